/** Filters that are tightened match the same values, and have one bound of numbers at each side of a column. */
import { describe, expect, it } from 'vitest'
import { tightened } from '../../../src/adapters/sqlite/access-path.ts'
import type { Filter } from '../../../src/core/ports/storage.ts'

const compare = (column: string, operator: '=' | '<>' | '<' | '>', value: number | string): Filter => ({
  kind: 'compare',
  column,
  operator,
  value,
})
const and = (...filters: readonly Filter[]): Filter => ({ kind: 'and', filters })
const list = (column: string, values: readonly (number | string)[]): Filter => ({ kind: 'in', column, values })

describe('a tightened filter', () => {
  it('keeps the closest bound of each side of each column', () => {
    const given = and(
      compare('a', '>', 3),
      and(compare('a', '>', 7), compare('b', '<', 1)),
      compare('a', '<', 9),
      compare('b', '<', 4),
    )
    expect(tightened(given)).toEqual(and(compare('a', '>', 7), compare('b', '<', 1), compare('a', '<', 9)))
  })

  it('keeps one of equal bounds', () => {
    const filter = tightened(and(compare('a', '>', 3), compare('a', '>', 3)))
    expect(filter).toEqual(and(compare('a', '>', 3)))
  })

  it('lists only what the bounds of the column allow', () => {
    const bounds = [compare('a', '>', 3), compare('a', '<', 9)]
    expect(tightened(and(list('a', [3, 4, 8, 9]), list('b', [1]), ...bounds))).toEqual(
      and(list('a', [4, 8]), list('b', [1]), ...bounds),
    )
    expect(tightened(and(list('a', [1]), ...bounds))).toEqual(and(list('a', []), ...bounds))
  })

  it('is the given one where it has no bounds of numbers, or is no conjunction', () => {
    for (const filter of [
      { kind: 'all' },
      compare('a', '>', 1),
      and(compare('a', '>', 'x'), compare('a', '>', 'y')),
      and(compare('a', '=', 1), compare('a', '<>', 2)),
      { kind: 'or', filters: [compare('a', '>', 1), compare('a', '>', 2)] },
      { kind: 'not', filter: and(compare('a', '>', 1), compare('a', '>', 2)) },
    ] satisfies Filter[])
      expect(tightened(filter)).toBe(filter)
  })
})
