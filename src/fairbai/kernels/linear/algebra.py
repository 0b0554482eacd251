"""Small dense linear algebra in plain loops: with the JIT off the same code must give the same bits.

Matrices are factored as M = U'U with U upper triangular; all inner loops run along rows.
"""

import math

from fairbai.kernels.jit import kernel, subroutine


@kernel
def add_row(target, factor, source, start):
    """Add ``factor`` times a row to another, from index ``start`` on."""
    for j in range(start, target.size):
        target[j] += factor * source[j]


@subroutine
def factor(matrix):
    """Overwrite the upper triangle of a symmetric matrix with its factor U; whether it is positive definite."""
    size = matrix.shape[0]
    for k in range(size):
        pivot = matrix[k, k]
        if not pivot > 0.0:
            return False
        scale = 1.0 / math.sqrt(pivot)
        for j in range(k, size):
            matrix[k, j] *= scale
        for i in range(k + 1, size):
            add_row(matrix[i], -matrix[k, i], matrix[k], i)
    return True


@subroutine
def whiten(upper, columns):
    """Overwrite every column c with the solution of U'x = c: then the dot products of columns are c'M^-1 c."""
    for k in range(upper.shape[0]):
        scale = 1.0 / upper[k, k]
        for j in range(columns.shape[1]):
            columns[k, j] *= scale
        for i in range(k + 1, upper.shape[0]):
            add_row(columns[i], -upper[k, i], columns[k], 0)


@subroutine
def solve_factored(upper, vector):
    """Overwrite a vector b with the solution of U'U x = b."""
    size = vector.size
    for k in range(size):
        vector[k] /= upper[k, k]
        add_row(vector, -vector[k], upper[k], k + 1)
    for k in range(size - 1, -1, -1):
        total = vector[k]
        for j in range(k + 1, size):
            total -= upper[k, j] * vector[j]
        vector[k] = total / upper[k, k]


@subroutine
def add_gram(features, weights, matrix):
    """Add the upper triangle of the weighted sum of x x' over the columns x of ``features`` to a matrix."""
    for k in range(features.shape[0]):
        for j in range(k, features.shape[0]):
            total = 0.0
            for a in range(weights.size):
                total += weights[a] * features[k, a] * features[j, a]
            matrix[k, j] += total
