"""Splits scikit-learn's handwritten digits: 60 % to train, 20 % to compare models, 20 % that none of them sees."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from examples.day.data import DATA


def main() -> None:
    """Write the three parts."""
    images, digits = load_digits(return_X_y=True)
    x_train, x_rest, y_train, y_rest = train_test_split(images, digits, test_size=0.4, stratify=digits, random_state=0)
    x_valid, x_test, y_valid, y_test = train_test_split(x_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=0)
    np.savez(
        DATA,
        train_images=x_train, train_digits=y_train,
        valid_images=x_valid, valid_digits=y_valid,
        test_images=x_test, test_digits=y_test,
    )  # fmt: skip
    print(f"{len(y_train)} digits to train, {len(y_valid)} to compare, {len(y_test)} kept aside")


if __name__ == "__main__":
    main()
