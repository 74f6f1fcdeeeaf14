/** Pages of rows of unknown length: small at first, then as long in bytes as they should be. */
import { expect, it } from 'vitest'
import { createPageSize } from '../../../src/core/maintenance/page-size.ts'
import type { Row } from '../../../src/core/ports/storage.ts'

const rows = (count: number, bytes: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({ id: index + 1, version: 1, body: new Uint8Array(bytes) }))

/** The sizes of pages of rows of these lengths. */
function sizesOf(lengths: readonly number[], options?: Parameters<typeof createPageSize>[0]): number[] {
  const size = createPageSize(options)
  return lengths.map((bytes) => {
    const next = size.next()
    size.read(rows(next, bytes))
    return next
  })
}

it('pages of short rows grow to the maximum, and no faster than four times', () => {
  expect(sizesOf([100, 100, 100, 100])).toEqual([16, 64, 128, 128])
  expect(sizesOf([100, 100, 100], { first: 4, max: 40 })).toEqual([4, 16, 40])
})

it('pages of long rows have a quarter of a mebibyte, and at least one row', () => {
  expect(sizesOf([0, 16 * 1024, 16 * 1024, 200_000, 200_000, 2_000_000, 2_000_000])).toEqual([16, 64, 16, 16, 1, 1, 1])
})

it('pages grow again after long rows, and an empty page changes nothing', () => {
  expect(sizesOf([200_000, 10, 10, 10, 10])).toEqual([16, 1, 4, 16, 64])
  const size = createPageSize()
  size.read([])
  expect(size.next()).toBe(16)
})
