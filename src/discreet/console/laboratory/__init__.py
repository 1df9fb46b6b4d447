"""The lab behind /lab: attacks on generated people, run when somebody asks, one after the other, within a time.

    words     what each attack shows
    choices   what can be chosen about an attack
    trial     one attack, in a process of its own
    bench     the trials that wait, run and are done

Nothing here reads a table of the project.
"""
