/** Clause I: integers of 64 bits and reals come back exact, and compare as numbers. */

import type { Cell } from '../../../core/ports/storage.ts'
import { assert, assertEqual, assertRejects } from '../assert.ts'
import { above, among, below, equal, idsFound, KEYED, numbers, rowOf, rowsWithIds, THINGS, unequal } from '../sample.ts'
import { type StorageCase, storageCase } from '../storage-case.ts'

const MOST = 2n ** 63n - 1n
const LEAST = -(2n ** 63n)

/** A case in which each given cell must come back as the expected one, of the very same type. */
function roundTrip(name: string, column: string, cells: readonly (readonly [given: Cell, expected: Cell])[]): StorageCase {
  return storageCase(name, [THINGS], async ({ storage }) => {
    await storage.insert('things', cells.map(([given], at) => ({ id: at + 1, [column]: given }))) // biome-ignore format: one line
    const rows = await storage.get('things', numbers(1, cells.length))
    for (const [at, [, expected]] of cells.entries()) assertEqual(rows[at]?.[column], expected, `cell ${at}`)
  })
}

const same = (cells: readonly Cell[]) => cells.map((cell) => [cell, cell] as const)

/** Neighbors that become one where an engine or driver goes through floating point. */
const NEIGHBORS = [2n ** 53n, 2n ** 53n + 1n, 2n ** 53n + 2n, -(2n ** 53n), -(2n ** 53n) - 1n, MOST - 1n, MOST, LEAST, LEAST + 1n]

export const numberCases: readonly StorageCase[] = [
  roundTrip(
    'I1 integers below 2^53 are numbers',
    'n',
    same([0, 1, -1, 255, 2 ** 31, -(2 ** 31), 2 ** 32, 2 ** 53 - 1, -(2 ** 53) + 1]),
  ),
  roundTrip('I2 integers from 2^53 on are exact bigints, to the ends of 64 bits', 'n', same(NEIGHBORS)),
  roundTrip('I3 the size alone decides between number and bigint', 'n', [
    [5n, 5],
    [-(2n ** 53n) + 1n, -(2 ** 53) + 1],
    [0n, 0],
    [2n ** 53n - 1n, 2 ** 53 - 1],
  ]),
  roundTrip(
    'I4 reals come back exact',
    'r',
    same([0, 0.1, -1.5, 1 / 3, 1e308, -1.7976931348623157e308, 5e-324, 2 ** -1074, 1e21, 123456789.12345679]),
  ),
  roundTrip('I5 a whole real is a number', 'r', same([3, -7, 1e15, 2 ** 53, 2 ** 60])),
  roundTrip('I6 minus zero is zero', 'r', [[-0, 0]]),
  storageCase('I7 big integers compare exactly', [THINGS], async ({ storage }) => {
    await storage.insert('things', NEIGHBORS.map((n, at) => ({ id: at + 1, n }))) // biome-ignore format: one line
    for (const [at, n] of NEIGHBORS.entries()) {
      const ids = (test: (other: bigint) => boolean) => numbers(1, 9).filter((id) => test(NEIGHBORS[id - 1] ?? 0n))
      assertEqual(await idsFound(storage, 'things', equal('n', n)), [at + 1])
      assertEqual(await idsFound(storage, 'things', below('n', n)), ids((other) => other < n)) // biome-ignore format: one line
      assertEqual(await idsFound(storage, 'things', above('n', n)), ids((other) => other > n)) // biome-ignore format: one line
      assertEqual(await idsFound(storage, 'things', among('n', [n, 4])), [at + 1])
    }
  }),
  storageCase('I8 numbers and bigints of one size are equal', [THINGS], async ({ storage }) => {
    await storage.insert('things', numbers(1, 5).map((n) => ({ id: n, n }))) // biome-ignore format: one line
    assertEqual(await idsFound(storage, 'things', equal('n', 3n)), [3])
    assertEqual(await idsFound(storage, 'things', unequal('n', 3n)), [1, 2, 4, 5])
    assertEqual(await idsFound(storage, 'things', among('n', [1n, 2, 5n, 2n ** 60n])), [1, 2, 5])
    assertEqual(await idsFound(storage, 'things', below('n', 2n ** 62n)), numbers(1, 5))
  }),
  storageCase('I9 a unique index distinguishes big neighbors', [KEYED], async ({ storage }) => {
    await storage.insert('keyed', NEIGHBORS.map((number, at) => ({ id: at + 1, number }))) // biome-ignore format: one line
    await assertRejects(storage.insert('keyed', [{ id: 20, number: 2n ** 53n + 1n }]), 'conflict')
    assertEqual(await idsFound(storage, 'keyed', among('number', [MOST, 2n ** 53n + 1n])), [2, 7])
  }),
  storageCase('I10 big integers can be patched in', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds([1, 2]))
    await storage.update('things', [
      { id: 1, version: 1, set: { n: MOST } },
      { id: 2, version: 1, set: { n: 12 } },
    ])
    assertEqual([(await rowOf(storage, 'things', 1)).n, (await rowOf(storage, 'things', 2)).n], [MOST, 12])
  }),
  storageCase('I11 reals compare as numbers', [THINGS], async ({ storage }) => {
    const rising = [-1e308, -10, -2.5, 0, 5e-324, 0.1, 0.25, 9, 10, 1e15, 1e308]
    await storage.insert('things', rising.map((r, at) => ({ id: at + 1, r }))) // biome-ignore format: one line
    for (const [at, r] of rising.entries()) {
      assertEqual(await idsFound(storage, 'things', equal('r', r)), [at + 1])
      assertEqual(await idsFound(storage, 'things', below('r', r)), numbers(1, at))
    }
    assertEqual(await idsFound(storage, 'things', among('r', [0.1, 9, 7])), [6, 8])
  }),
  storageCase('I12 ids and versions are numbers up to 2^48 and beyond 2^31', [THINGS], async ({ storage }) => {
    const id = 2 ** 48 - 1
    await storage.insert('things', [{ id, version: 2 ** 33 }])
    await storage.update('things', [{ id, version: 2 ** 33, set: {} }])
    const row = await rowOf(storage, 'things', id)
    assert(row.id === id && row.version === 2 ** 33 + 1, 'id and version should be exact numbers')
    assertEqual(await storage.delete('things', { ids: [id] }), [id])
  }),
]
