/** Which chains a listing reads: the latest, most rows of the very latest, and no chain that only has events before those that wait. */
import { expect, it } from 'vitest'
import { type ChainWalk, firstWalks, nextWalks } from '../../../src/core/audit-log/chain-walk.ts'

/** Chains 1, 2, 3 … that can have events before these times. */
const walksOf = (...times: readonly string[]): ChainWalk[] =>
  times.map((earlierThan, index) => ({ chain: index + 1, before: 1_000_000, earlierThan }))

const rowsOf = (chosen: ReturnType<typeof firstWalks>): number[][] => chosen.map(({ walk, rows }) => [walk.chain, rows])

it('one chain is read for a page', () => {
  expect(rowsOf(firstWalks(walksOf('10')))).toEqual([[1, 32]])
})

it('of several chains the latest is read for a page, and the others for as many rows together', () => {
  expect(rowsOf(firstWalks(walksOf('10', '30', '20', '05')))).toEqual([
    [2, 32],
    [3, 8],
    [1, 8],
    [4, 8],
  ])
})

it('of a thousand chains the 16 latest are read', () => {
  const chosen = rowsOf(firstWalks(walksOf(...Array.from({ length: 1000 }, (_, index) => String(1000 + index)))))
  expect(chosen.map(([chain]) => chain)).toEqual(Array.from({ length: 16 }, (_, index) => 1000 - index))
  expect(chosen.map(([, rows]) => rows)).toEqual([32, ...Array.from({ length: 15 }, () => 2)])
})

it('the next chains are those that can have a later event than half of the events that wait', () => {
  expect(rowsOf(nextWalks(walksOf('50', '41', '40', '10'), ['49', '45', '40', '30', '20'], 32))).toEqual([
    [1, 16],
    [2, 16],
  ])
})

it('the chain for which the next event waits is among them, whatever waits', () => {
  expect(rowsOf(nextWalks(walksOf('10', '50'), ['49', '49', '49'], 32))).toEqual([[2, 32]])
})

it('all chains are read further if no event waits', () => {
  expect(rowsOf(nextWalks(walksOf('10', '50'), [], 33))).toEqual([
    [2, 17],
    [1, 17],
  ])
})

it('nothing is read when no chain is left', () => {
  expect(firstWalks([])).toEqual([])
  expect(nextWalks([], ['10'], 32)).toEqual([])
})
