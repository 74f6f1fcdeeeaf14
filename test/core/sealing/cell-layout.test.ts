/** The cells of a body: written cells are found, invalid bytes are detected, and replacing cells keeps the others. */
import { expect, it } from 'vitest'
import {
  beginValue,
  cellMark,
  checkStart,
  copyCells,
  createCellMap,
  endValue,
  mapCells,
  toCellSpecs,
  valueEnd,
  valueStart,
  writeCellHead,
  writeRecordCheckHead,
} from '../../../src/core/sealing/cell-layout.ts'
import { ByteWriter } from '../../../src/core/util/bytes.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'

interface Cell {
  readonly ordinal: number
  readonly check: 'shared' | 'own' | 'none'
  readonly value: Uint8Array | undefined
}

const markOf = (ordinal: number) => cellMark(1, `column ${ordinal}`)

/** Columns of values of any length. */
const specsOf = (ordinals: number) =>
  toCellSpecs(Array.from({ length: ordinals }, (_, ordinal) => ({ ordinal, mark: markOf(ordinal), size: undefined })))

function write(cells: readonly Cell[]): Uint8Array {
  const out = new ByteWriter(4)
  writeRecordCheckHead(out)
  out.u32(0xaaaa)
  out.u32(0xbbbb)
  for (const { ordinal, check, value } of cells) {
    writeCellHead(out, { ordinal, mark: markOf(ordinal) }, check, value !== undefined)
    if (check === 'own') {
      out.u32(ordinal)
      out.u32(ordinal)
    }
    if (value === undefined) continue
    const start = beginValue(out)
    out.raw(value)
    endValue(out, start)
  }
  return out.written().slice()
}

function read(bytes: Uint8Array, ordinals: number) {
  const map = createCellMap(specsOf(ordinals))
  expect(mapCells(bytes, 0, bytes.length, map)).toBe(true)
  return Array.from({ length: ordinals }, (_, ordinal) => {
    const start = valueStart(map, ordinal)
    const check = checkStart(map, ordinal)
    return {
      value: start < 0 ? undefined : bytes.slice(start, valueEnd(map, ordinal)),
      check: check < 0 ? 'none' : check === map.recordCheck ? 'shared' : 'own',
    }
  })
}

it('finds cells of every size and token check where they were written, for 300 random bodies', () => {
  const random = seededRandom('cells')
  const sizes = [0, 1, 127, 128, 129, 16_383, 16_384, 20_000]
  for (let round = 0; round < 300; round++) {
    const cells = Array.from({ length: 40 }, (_, ordinal): Cell => {
      const check = (['shared', 'own', 'none'] as const)[Math.floor(random() * 3)] ?? 'none'
      const size = sizes[Math.floor(random() * sizes.length)] ?? 0
      return { ordinal, check, value: random() < 0.2 ? undefined : new Uint8Array(size).fill(ordinal) }
    }).filter(() => random() < 0.5)
    const found = read(write(cells), 40)
    for (const { ordinal, check, value } of cells) expect(found[ordinal]).toEqual({ check, value })
    expect(found.filter(({ value, check }) => value !== undefined || check !== 'none').length).toBeLessThanOrEqual(cells.length)
  }
})

it('returns false for a body truncated inside a value', () => {
  const bytes = write([{ ordinal: 0, check: 'none', value: new Uint8Array(50) }])
  const map = createCellMap(specsOf(1))
  for (let end = 10; end < bytes.length; end++) expect(mapCells(bytes, 0, end, map)).toBe(false)
})

it('copies the token check of the record and unknown columns, and skips replaced cells', () => {
  const bytes = write([
    { ordinal: 0, check: 'shared', value: Uint8Array.of(1) },
    { ordinal: 1, check: 'own', value: Uint8Array.of(2) },
    { ordinal: 300, check: 'shared', value: Uint8Array.of(3) },
  ])
  const out = new ByteWriter()
  copyCells(bytes, 0, bytes.length, (ordinal) => ordinal === 1, out)
  expect(
    read(out.written(), 301).flatMap(({ value, check }, ordinal) => (value === undefined ? [] : [[ordinal, check, ...value]])),
  ).toEqual([
    [0, 'shared', 1],
    [300, 'shared', 3],
  ])
  expect(read(bytes, 1)[0]).toEqual({ check: 'shared', value: Uint8Array.of(1) })
})

it('returns false for a cell whose mark or length differs from its spec, and for no other', () => {
  const bytes = write([
    { ordinal: 0, check: 'own', value: new Uint8Array(8) },
    { ordinal: 1, check: 'shared', value: undefined },
  ])
  const isMapped = (specs: Parameters<typeof toCellSpecs>[0]) =>
    mapCells(bytes, 0, bytes.length, createCellMap(toCellSpecs(specs)))
  const first = { ordinal: 0, mark: markOf(0), size: 8 }
  const second = { ordinal: 1, mark: markOf(1), size: 8 }
  expect(isMapped([first, second])).toBe(true)
  expect(isMapped([{ ...first, size: 7 }, second])).toBe(false)
  expect(isMapped([{ ...first, mark: cellMark(2, 'column 0') }, second])).toBe(false)
  expect(isMapped([first, { ...second, mark: markOf(0) }])).toBe(false)
})

it('gives 10,000 columns different marks as often as 20 bits can, and never one mark to two types', () => {
  const marks = Array.from({ length: 10_000 }, (_, index) => cellMark(1, JSON.stringify([index, 'people', `column_${index}`])))
  // Drawn at random, 10,000 of 2^20 marks have about 47 pairs in common.
  expect(new Set(marks).size).toBeGreaterThan(9900)
  expect(new Set(Array.from({ length: 15 }, (_, tag) => cellMark(tag + 1, 'same'))).size).toBe(15)
})

it('one map has nothing left over of other bodies of its buffer, in any order, for 100 random lists', () => {
  const random = seededRandom('maps')
  for (let round = 0; round < 100; round++) {
    const bodies = Array.from({ length: 8 }, () =>
      Array.from(
        { length: 5 },
        (_, ordinal): Cell => ({
          ordinal,
          check: (['shared', 'own', 'none'] as const)[Math.floor(random() * 3)] ?? 'none',
          value: random() < 0.3 ? undefined : new Uint8Array(Math.floor(random() * 3)).fill(ordinal),
        }),
      ).filter(() => random() < 0.6),
    )
    const written = bodies.map(write)
    const bytes = new Uint8Array(written.flatMap((body) => [...body]))
    const starts = written.map((_, index) => written.slice(0, index).reduce((sum, { length }) => sum + length, 0))
    const map = createCellMap(specsOf(5))
    for (let step = 0; step < 20; step++) {
      const index = Math.floor(random() * bodies.length)
      const start = starts[index] ?? 0
      expect(mapCells(bytes, start, start + (written[index]?.length ?? 0), map)).toBe(true)
      const found = Array.from({ length: 5 }, (_, ordinal) => {
        const value = valueStart(map, ordinal)
        const check = checkStart(map, ordinal)
        return {
          value: value < 0 ? undefined : bytes.slice(value, valueEnd(map, ordinal)),
          check: check < 0 ? 'none' : check === map.recordCheck ? 'shared' : 'own',
        }
      })
      const alone = read(written[index] ?? new Uint8Array(0), 5)
      expect(found).toEqual(alone)
    }
  }
})
