"""The texts behind reference vectors: what a self test should see of the world's writing.

Short and long, some longer than any encoder takes, other scripts, numbers, nothing that a
tokenizer knows. Not here: the vectors, which belong to an encoder (export.py).
"""

TEXTS = (
    "A man is playing a guitar.",
    "Somebody makes music on a stage in front of a small crowd.",
    "no",
    "The committee, which had met 3 times since 1987, could not agree on a date (or a place).",
    "WHY NOT?!",
    "Die Straße führt über den Fluss, und dann »nach Süden«.",
    "日本の秋は、山が赤くなります。",
    "Погода завтра будет холодной и ясной.",
    "🎻🎺",
    "a b c d e f g h i j k l m n o p q r s t u v w x y z",
    (
        "It rained for most of the week, so the farmers waited; when the sun came back they worked "
        "until late in the evening, and by the end of the month the barns were full, the roads "
        "were dry again, and nobody spoke of the flood any more."
    ),
    "The river rises in the hills, runs past two towns and ends in the lake. " * 40,
)
