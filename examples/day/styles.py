"""How many ways are there to write a digit? Groups all images of one into 2 to 5 and says which parts them best."""

from __future__ import annotations

import sys

from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from examples.day.data import part

GROUPS = range(2, 6)


def main() -> None:
    """Group the images of the digit that is named."""
    digit = int(sys.argv[1])
    train = part("train")
    images = train.images[train.digits == digit]
    parted = {n: silhouette_score(images, KMeans(n, n_init=3, random_state=0).fit_predict(images)) for n in GROUPS}
    best = max(parted, key=lambda n: parted[n])
    print(f"{len(images)} images of {digit}: {best} styles (silhouette {parted[best]:.2f})")


if __name__ == "__main__":
    main()
