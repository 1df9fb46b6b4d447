"""Names for people who are generated."""

GIVEN = ("Ada", "Ben", "Clara", "David", "Edith", "Frank", "Grace", "Henry", "Iris", "Jacob", "Karen", "Louis")
FAMILY = ("Abbot", "Brook", "Carver", "Dunn", "Ellis", "Ford", "Gray", "Hale", "Ives", "Jarvis", "Knox", "Lowell")
