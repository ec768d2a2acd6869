"""Rule O: lists of unknown length hold values: no element that changes may be known elsewhere."""

from __future__ import annotations

import torch

from tests.soundness.harness import check, refused


def _rows_and_counts():
    generator = torch.Generator().manual_seed(0)
    for rows in (1, 2, 3, 2):
        yield torch.randn(rows, 4, generator=generator), torch.randint(0, 5, (rows,), generator=generator)


def _numbers(count=4):
    generator = torch.Generator().manual_seed(1)
    return [(torch.randn(4, generator=generator),) for _ in range(count)]


def test_a_matrix_of_unknown_size_as_lists():
    def program(x):
        out = []
        for row in x.tolist():
            total = 0
            for value in row:
                if value > 0:
                    total = total + value
            out.append(total)
        return out, x.tolist()

    generator = torch.Generator().manual_seed(0)
    check(program, [(torch.randint(-3, 4, s, generator=generator),) for s in ((2, 3), (1, 4), (3, 2), (2, 2))])


def test_ragged_results():
    def program(x, counts):
        results = []
        for row, count in zip(x, counts.tolist(), strict=True):
            found = []
            for i in range(count):
                if row[i] > 0:
                    found.append(i)
            results.append(found)
        return results, [len(r) for r in results]

    check(program, list(_rows_and_counts()))


def test_nested_comprehensions():
    def program(x, counts):
        return [[j for j in range(k) if row[j] > 0] for row, k in zip(x, counts.tolist(), strict=True)]

    check(program, list(_rows_and_counts()))


def test_tuples_with_lists():
    def program(x):
        out = []
        i = 0
        while x.sum() > i:
            out.append((i, [i, i + 1]))
            i += 1
        return [a + len(b) for a, b in out], out

    check(program, _numbers())


def test_elements_of_growing_size():
    def program(x):
        out = []
        i = 0
        while x.sum() > i:
            out.append(x[: i + 1] if i else x[:1])
            i += 1
        return torch.cat(out) if out else x

    check(program, _numbers())


def test_beams():
    def program(x):
        beams = [[0]]
        for t in range(x.shape[0]):
            beams = [[*b, t] if x[t] > 0 else list(b) for b in beams]
        return beams

    generator = torch.Generator().manual_seed(0)
    check(program, [(torch.randn(n, generator=generator),) for n in (4, 5, 6)])


def test_an_element_that_changes_after_it_was_added():
    def program(x):
        out = []
        for i in range(4):
            row = [i]
            if x[i] > 0:
                out.append(row)
            row.append(7)
        return out

    check(program, _numbers())


def test_an_element_that_is_known_elsewhere():
    def program(x):
        row = [1]
        out = [row]
        for i in range(4):
            if x[i] > 0:
                out.append([i])
        row.append(9)
        return out

    check(program, _numbers())


def test_a_change_through_the_outer_list():
    def program(x):
        out = [[0]]
        for i in range(4):
            if x[i] > 0:
                out.append([i])
            out[-1].append(5)
        return out

    check(program, _numbers())


def test_a_tensor_in_a_list_changes_later():
    def program(x):
        first = torch.zeros(2)
        items = [first]
        for i in range(4):
            if x[i] > 0:
                items.append(x[:2] * i)
        first += 1
        return items

    check(program, _numbers())


def test_two_lists_that_begin_alike():
    def program(x):
        short, long = [x], [x]
        long.append(x + 1)
        i = 0
        while x.sum() > i:
            short.append(x * i)
            long.append(x + i)
            i += 1
        return short, long

    check(program, _numbers())


def _vectors(*lengths):
    generator = torch.Generator().manual_seed(2)
    return [(torch.randn(n, generator=generator),) for n in (lengths or (3, 5, 8, 1, 4))]


def test_searches_in_a_list_of_unknown_length():
    def program(x):
        seen = []
        for i in range(x.shape[0]):
            value = int(x[i] * 3)
            if value not in seen:
                seen.append(value)
        try:
            seen.remove(1)
        except ValueError as error:
            return seen, str(error)
        seen.append(0)
        return seen, seen.index(0), seen.index(0, -1), seen.count(0), 1 in seen

    check(program, _vectors())


def test_searches_for_tensors():
    def scalars(x):
        numbers = [v for v in x if v > 0]
        return numbers.index(max(numbers)) if numbers else -1, x[0] in numbers

    def rows(x):
        rows = [x, x + 1, x * 2]
        best = max(rows, key=lambda row: row.sum())
        return rows.index(best), best in rows, rows.count(x)

    check(scalars, _vectors())
    check(rows, _vectors())


def test_a_row_in_a_list_of_unknown_length_is_not_looked_for():
    def program(x):
        rows = []
        for i in range(x.shape[0]):
            if x[i] > 0:
                rows.append(x[:2])
        return x[:2] in rows

    refused(program, _vectors(3, 5), "TC124")


def test_extending_by_a_list_of_unknown_length():
    def program(x):
        first, second = [1.0], [2.0]
        known = (first, second)
        first += x.tolist()
        second.extend(x[1:].tolist())
        return known, first + second, [*first, 0.5]

    check(program, _vectors())


def test_extending_in_a_loop():
    class Owner:
        pass

    def program(x):
        owner = Owner()
        owner.rows = rows = []
        for i in range(x.shape[0]):
            if x[i] > 0:
                owner.rows += x[i:].unsqueeze(1).tolist()
            rows += ([v.item()] for v in x[:i] if v < 0)
        return rows

    check(program, _vectors())


def test_views_in_a_list_of_unknown_length_whose_base_changes():
    """What the loop's body puts into the list, it does for the way out of the loop as well."""

    def program(x):
        y = x * 1
        rows = []
        for i in range(y.shape[0]):
            rows.append(y[i])
        y.add_(1)
        return torch.stack(rows)

    def carried(x):
        rows = []
        for _ in range(x.shape[0]):
            x = x + 1
            rows.append(x)
        x.add_(1)
        return rows

    check(program, _vectors(3, 5), "any")
    check(carried, _vectors(3, 5), "any")


def test_a_tensor_in_a_list_is_replaced_and_changes():
    def program(x):
        rows = []
        for _ in range(x.shape[0]):
            x = torch.relu(x)
            rows.append(x)
        x = x + 1
        x.mul_(2)
        return rows, x

    check(program, _vectors())
