// Runs the client on cases: a line of JSON on standard input, {job, client: address of its file, document}, is answered
// with a line of JSON, {answer} or {fault}. Only for the tests, which start one process for thousands of cases.
import { createInterface } from "node:readline";

let client;

/** An answer of the client, or the sentence with which it refused. */
function attempt(act) {
  try {
    return act();
  } catch (error) {
    if (error instanceof client.Refused) return { refused: error.message };
    throw error;
  }
}

/** A localStorage for one test. */
class Memory {
  entries = new Map();
  writes = [];

  get length() {
    return this.entries.size;
  }

  key(index) {
    return [...this.entries.keys()][index];
  }

  getItem(place) {
    return this.entries.get(place) ?? null;
  }

  setItem(place, text) {
    this.writes.push(place);
    this.entries.set(place, text);
  }
}

const JOBS = {
  /** [{parameters, reports: [{value, tape}]}] -> [[{report, left}]] */
  reports: (groups) =>
    groups.map(({ parameters, reports }) => {
      const made = client.randomizer(parameters);
      return reports.map(({ value, tape }) => {
        const source = new client.Tape(client.fromHex(tape));
        try {
          return attempt(() => ({ report: client.toHex(made.randomize(value, source)), left: source.left.length }));
        } catch (error) {
          return { fault: String(error) }; // of a client that a test has broken
        }
      });
    }),

  /** [parameters] -> [{epsilon} or {refused}] */
  epsilons: (documents) =>
    documents.map((parameters) => attempt(() => ({ epsilon: client.randomizer(parameters).epsilon }))),

  /** [{parameters, value, report}] -> [chance] */
  chances: (cases) =>
    cases.map(({ parameters, value, report }) =>
      client.randomizer(parameters).chance(value, client.fromHex(report)),
    ),

  /** [{parameters, report}] -> [[choice]] */
  supported: (cases) =>
    cases.map(({ parameters, report }) => client.randomizer(parameters).supported(client.fromHex(report))),

  /** [message] -> [{sha256, hmac}] */
  hashes: (messages) =>
    messages.map(({ key, message }) => ({
      sha256: client.toHex(client.sha256(client.fromHex(message))),
      hmac: client.toHex(client.hmac(client.fromHex(key), client.fromHex(message))),
    })),

  /** {settings, steps: [{survey, value, round, time}], entries, forget} -> [answers], and what storage holds */
  device: ({ lifetime, settings, steps, broken, entries }) => {
    const storage = new Memory();
    for (const [place, text] of Object.entries(entries ?? {})) storage.entries.set(place, text);
    if (broken === "throws") storage.setItem = () => { throw new Error("quota"); };
    if (broken === "forgets") storage.setItem = () => {};
    const answers = steps.map(({ survey, value, round, time, forget }) =>
      attempt(() => {
        if (time !== undefined) Date.now = () => 1000 * time;
        for (const place of [...storage.entries.keys()]) if (place.startsWith(forget)) storage.entries.delete(place);
        // A new Device each time: a reload.
        const device = new client.Device({ storage, lifetime: lifetime ?? Infinity, ...settings });
        const given = device.answer(survey, value, round);
        return { ...given, report: client.toHex(given.report), written: storage.writes.length };
      }),
    );
    return { answers, stored: Object.fromEntries(storage.entries) };
  },

  /** {settings, steps: [{survey, value, time, leaving, arrived}]} -> [donations], and what storage holds */
  periods: ({ settings, steps }) => {
    const storage = new Memory();
    let room = Infinity;
    const plain = storage.setItem.bind(storage);
    storage.setItem = (place, text) => {
      if (room-- <= 0) throw new Error("quota");
      plain(place, text);
    };
    const donations = steps.map(({ survey, value, time, leaving, arrived, writes }) =>
      attempt(() => {
        Date.now = () => 1000 * time;
        room = writes ?? Infinity;
        const device = new client.Device({ storage, ...settings });
        const given = survey.periods ? device.donate(survey, value) : device.answer(survey, value);
        if (!survey.periods) return { ...given, report: client.toHex(given.report) };
        if (leaving) device.leaving(given);
        if (arrived) device.arrived(given);
        return { ...given, report: client.toHex(given.report), donated: device.donated(survey) };
      }),
    );
    return { donations, stored: Object.fromEntries(storage.entries) };
  },

  /** {locks} -> what is left of a hundred works of two tabs that each read a number, wait, and write one more. */
  tabs: async ({ locks }) => {
    let last = Promise.resolve();
    const queue = (name, work) => (last = last.then(work, work));
    const navigator = locks ? { locks: { request: queue } } : {};
    Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true });
    const storage = new Memory();
    const tabs = [new client.Device({ storage }), new client.Device({ storage })];
    const work = async () => {
      const before = Number(storage.getItem("number"));
      await new Promise((go) => setTimeout(go, 0));
      storage.setItem("number", String(before + 1));
    };
    await Promise.all(Array.from({ length: 100 }, (_, turn) => tabs[turn % 2].alone(work)));
    return Number(storage.getItem("number"));
  },

  /** [{parameters, periods}] -> [loss] */
  losses: (cases) =>
    cases.map(({ parameters, periods }) =>
      attempt(() => new client.Periods(periods).loss(client.randomizer(parameters))),
    ),

  /** [{parameters, value}] -> [canonical answers] */
  canonical: (cases) =>
    cases.map(({ parameters, value }) => attempt(() => client.randomizer(parameters).canonical(value))),
};

const now = Date.now;
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  let said;
  try {
    client = await import(asked.client);
    said = { answer: await JOBS[asked.job](asked.document) };
  } catch (error) {
    said = { fault: String(error.stack) };
  }
  Date.now = now;
  delete globalThis.navigator;
  process.stdout.write(JSON.stringify(said) + "\n");
}
