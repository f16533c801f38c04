"""Memory that oneDNN's LSTM and torch's wrapper around it allocate, in float32, to the byte.

Sizes follow src/cpu/rnn/rnn_utils.hpp (set_workspace_sizes), rnn_utils.cpp (set_offsets,
get_good_ld), ref_rnn.cpp (init_scratchpad) and x64/rnn/rnn_brgemm_utils.cpp of oneDNN, and
aten/src/ATen/native/mkldnn/RNN.cpp of torch; checked against allocator events with oneDNN 3.12
on AVX2. One layer, one direction: b sequences, n steps, d inputs, hidden units.
"""

from __future__ import annotations

from costlab.algebra import Size, as_expr, at_least, ceil_div, floor, maximum, symbol

FLOAT = 4
PAGE = 4096
ALIGNMENT = 128
POINTER = 8
BATCH_ELEMENT = 40  # sizeof(brgemm_batch_element_t)
BLOCK = 16  # output columns of a packed weight block: two AVX2 vectors (AVX-512 packs 32)
BLOCK_OF_ONE = 32  # likewise for a batch of 1


def _pages(nbytes: Size) -> Size:
    return PAGE * ceil_div(nbytes, PAGE)


def leading_dimension(columns: Size) -> Size:
    """Row length in floats of a matrix: whole cache lines, but not a multiple of 256."""
    lines = ceil_div(columns, 16)
    aliased = 1 - ceil_div(lines, 16) + floor(as_expr(lines) / 16)
    return 16 * (lines + aliased)


def booked(nbytes: Size) -> Size:
    return nbytes + ALIGNMENT


_POINTERS = 3 * booked(POINTER) + booked(4 * POINTER)
"""Weight pointers of layer, state and projection, and bias pointers (4 for a float32 bias)."""


def mkldnn_lstm_workspace_bytes(b: Size, n: Size, d: Size, hidden: Size, train: bool) -> Size:
    """Size of the workspace that ``mkldnn_rnn_layer`` returns (its fourth output), in bytes.

    Gates and hidden outputs of n steps, then states and their gradients, each for two layers
    (input and output) and n + 1 steps; every part starts on a page. Inference returns none.

    >>> mkldnn_lstm_workspace_bytes(32, 16, 64, 64, train=True)
    2080768
    """
    if not train:
        return 0
    width = leading_dimension(maximum(d, hidden))
    rows = 2 * (n + 1) * b * FLOAT
    gates = _pages(n * b * leading_dimension(4 * hidden) * FLOAT)
    outputs = _pages(n * b * leading_dimension(hidden) * FLOAT)
    return gates + outputs + 3 * _pages(rows * width) + 2 * _pages(rows * hidden)


def _training_scratchpad(b: Size, hidden: Size, merged_steps: Size) -> Size:
    gates = _pages(merged_steps * b * leading_dimension(4 * hidden) * FLOAT)
    outputs = _pages(b * leading_dimension(hidden) * FLOAT)
    return gates + 2 * outputs + PAGE + _POINTERS


def _inference_scratchpad(b: Size, n: Size, d: Size, hidden: Size) -> Size:
    width = leading_dimension(maximum(d, hidden))
    rows = 2 * (n + 1) * b * FLOAT
    states = _pages(rows * width) + _pages(rows * hidden)
    merged = b == 1 and n != 1  # a single sequence computes the input products of all steps
    gates = _pages((n if merged else 1) * b * leading_dimension(4 * hidden) * FLOAT)
    outputs = _pages(b * leading_dimension(hidden) * FLOAT)
    fused = as_expr(d) == as_expr(hidden) and not merged
    batch = symbol("threads") * 2 * BATCH_ELEMENT * (2 if fused else 1)
    return states + gates + outputs + PAGE + _POINTERS + booked(batch)


def _bias(hidden: Size) -> Size:
    return 4 * hidden * FLOAT


def _step_major(rows: Size, hidden: Size) -> Size:
    """A weight matrix with its gates along a row; one row alone is not padded."""
    row = 4 * hidden if rows == 1 else leading_dimension(4 * hidden)
    return rows * row * FLOAT


def lstm_forward_scratch_bytes(b: Size, n: Size, d: Size, hidden: Size, train: bool) -> Size:
    """Summed bias, reordered weights and scratchpad of one forward call.

    Training computes the input products of all steps at once for batches below 128.
    """
    if not train:
        block = BLOCK_OF_ONE if b == 1 else BLOCK
        columns = block * ceil_div(hidden, block)
        weights = (d + hidden) * 4 * columns * FLOAT
        return _bias(hidden) + weights + _inference_scratchpad(b, n, d, hidden)
    merged = 1 + (n - 1) * (1 - at_least(b, 128))
    # A matrix of one row is in the right order already.
    weights = sum((_step_major(rows, hidden) for rows in (d, hidden) if rows != 1), start=0)
    return _bias(hidden) + weights + _training_scratchpad(b, hidden, merged)


def lstm_backward_scratch_bytes(b: Size, n: Size, d: Size, hidden: Size) -> Size:
    """Reordered weights and weight gradients, bias and its gradient, scratchpad, of one call.

    The second bias gradient, an output, is made after the rest has gone; so its bytes come off.
    """

    def padded(columns: Size) -> Size:
        row = leading_dimension(columns)
        return 4 * hidden * row * FLOAT * at_least(row - columns, 1)

    weights = padded(d) + padded(hidden)
    gradients = _step_major(d, hidden) + _step_major(hidden, hidden)
    return weights + gradients + _bias(hidden) + _training_scratchpad(b, hidden, n)
