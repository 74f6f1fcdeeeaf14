/** The cells of a body: written cells are found, invalid bytes are refused, and cells of other columns are never read. */
import { describe, expect, it } from 'vitest'
import {
  bitsOf,
  type CellMap,
  checkStart,
  createCellMap,
  mapCells,
  textEnd,
  textStart,
  unknownCells,
  valueEnd,
  valueStart,
} from '../../../src/core/sealing/body-reader.ts'
import { beginValue, copyContent, createLayoutWriter, endValue } from '../../../src/core/sealing/body-writer.ts'
import { type CellSpec, type CheckPlacement, cellBits, hashColumn, toCellSpecs } from '../../../src/core/sealing/cell-layout.ts'
import { ByteWriter } from '../../../src/core/util/bytes.ts'
import { type SeededRandom, seededRandom } from '../../support/random/seeded-random.ts'

/** One cell: its column, what it stores for its token, and its value. */
interface Cell {
  readonly ordinal: number
  readonly check: CheckPlacement
  readonly value: Uint8Array | undefined
  /** The text of its token, if it has one. */
  readonly text?: Uint8Array
}

/** The hash of a column in these tests. */
const hashOf = (ordinal: number) => hashColumn(1, `column ${ordinal}`)

/** Writes the content of a cell. An own token check is the ordinal, twice. */
function writeContent(out: ByteWriter, { ordinal, check, value, text }: Cell): void {
  if (check === 'own') {
    out.u32(ordinal)
    out.u32(ordinal)
  }
  for (const bytes of [check === 'text' ? (text ?? new Uint8Array(0)) : undefined, value]) {
    if (bytes === undefined) continue
    out.varint(bytes.length)
    out.raw(bytes)
  }
}

const specOf = (ordinal: number): CellSpec => ({ ordinal, column: hashOf(ordinal), size: undefined })

/** Columns of values of any length, in groups with these ends. */
const specsOf = (ordinals: number, earlierEnds: readonly number[] = []) =>
  toCellSpecs(
    Array.from({ length: ordinals }, (_, ordinal) => specOf(ordinal)),
    earlierEnds,
  )

/** A body. `cells` are by rising ordinal. */
function write(cells: readonly Cell[], specs = specsOf(40)): Uint8Array {
  const out = new ByteWriter(4)
  const layout = createLayoutWriter(specs)
  for (const { ordinal, check, value } of cells) layout.bits[ordinal] = cellBits(check, value !== undefined)
  if (layout.write(out)) {
    out.u32(0xaaaa)
    out.u32(0xbbbb)
  }
  for (const cell of cells) writeContent(out, cell)
  return out.written().slice()
}

function found(bytes: Uint8Array, map: CellMap) {
  return Array.from({ length: map.ordinals }, (_, ordinal) => {
    const [start, check, text] = [valueStart(map, ordinal), checkStart(map, ordinal), textStart(map, ordinal)]
    const own = check >= 0 && check !== map.recordCheck
    if (own) expect(bytes[check + 3]).toBe(ordinal)
    return {
      value: start < 0 ? undefined : bytes.slice(start, valueEnd(map, ordinal)),
      check: text >= 0 ? 'text' : check < 0 ? 'none' : own ? 'own' : 'shared',
      text: text < 0 ? undefined : bytes.slice(text, textEnd(map, ordinal)),
    }
  })
}

function read(bytes: Uint8Array, specs = specsOf(40)) {
  const map = createCellMap(specs)
  expect(mapCells(bytes, 0, bytes.length, map)).toBe(true)
  return found(bytes, map)
}

const isMapped = (bytes: Uint8Array, specs = specsOf(40)): boolean => mapCells(bytes, 0, bytes.length, createCellMap(specs))

const SIZES = [0, 1, 2, 127, 128, 129, 16_383, 16_384, 20_000]

function randomCells(random: SeededRandom, ordinals: number, sizes = SIZES): Cell[] {
  return Array.from({ length: ordinals }, (_, ordinal): Cell => {
    const check = random.pick<CheckPlacement>(['shared', 'shared', 'own', 'none', 'text'])
    const value = check !== 'none' && random.chance(0.2) ? undefined : new Uint8Array(random.pick(sizes)).fill(ordinal)
    return { ordinal, check, value, ...(check === 'text' ? { text: new Uint8Array(random.pick(sizes)).fill(ordinal) } : {}) }
  }).filter(() => random.chance(0.5))
}

/** What `found` returns for these cells. */
function expected(cells: readonly Cell[], ordinals: number) {
  return Array.from({ length: ordinals }, (_, ordinal) => {
    const { value, check, text } = cells.find((cell) => cell.ordinal === ordinal) ?? { value: undefined, check: 'none' }
    return { value, check, text }
  })
}

describe('a body', () => {
  it('has its cells where they were written, for 100 random bodies', () => {
    const random = seededRandom('cells new')
    for (let round = 0; round < 100; round++) {
      const cells = randomCells(random, 40)
      expect(read(write(cells))).toEqual(expected(cells, 40))
    }
  })

  it('truncated to any length is refused', () => {
    const random = seededRandom('cut new')
    for (let round = 0; round < 100; round++) {
      const cells = randomCells(random, 8, [0, 1, 2, 130])
      const bytes = write(cells)
      for (let end = 1; end < bytes.length; end++) {
        // The rest of the buffer is there, as the next body is.
        const map = createCellMap(specsOf(8))
        expect(mapCells(bytes, 0, end, map), `${end} of ${bytes.length}`).toBe(false)
        expect(isMapped(bytes.slice(0, end), specsOf(8))).toBe(false)
      }
    }
  })

  it('with changed bytes is refused, or its offsets are within it', () => {
    const random = seededRandom('changed new')
    let refused = 0
    for (let round = 0; round < 3000; round++) {
      const bytes = write(randomCells(random, 8, [0, 1, 2, 130]))
      if (bytes.length === 0) continue
      for (let k = 0; k <= random.below(3); k++) bytes[random.below(bytes.length)] = random.below(256)
      const map = createCellMap(specsOf(8))
      if (!mapCells(bytes, 0, bytes.length, map)) {
        refused++
        continue
      }
      for (let ordinal = 0; ordinal < 8; ordinal++) {
        const [start, end] = [valueStart(map, ordinal), valueEnd(map, ordinal)]
        expect(start < 0 ? end < 0 : start <= end && end <= bytes.length).toBe(true)
      }
    }
    expect(refused).toBeGreaterThan(300)
  })

  it('with a column of another name, type, number or length is refused', () => {
    const bytes = write([
      { ordinal: 0, check: 'own', value: new Uint8Array(8) },
      { ordinal: 1, check: 'shared', value: undefined },
    ])
    const [first, second] = [
      { ...specOf(0), size: 8 },
      { ...specOf(1), size: 8 },
    ]
    const others = Array.from({ length: 38 }, (_, index) => specOf(index + 2))
    const isRead = (...specs: readonly CellSpec[]) => isMapped(bytes, toCellSpecs([...specs, ...others]))
    expect(isRead(first, second)).toBe(true)
    expect(isRead({ ...first, size: 7 }, second)).toBe(false)
    expect(isRead({ ...first, column: hashColumn(2, 'column 0') }, second)).toBe(false)
    expect(isRead(first, { ...second, column: hashOf(0) })).toBe(false)
    expect(isRead({ ...first, ordinal: 1 }, { ...second, ordinal: 0 })).toBe(false)
  })
})

it('one map has nothing left over of other bodies of its buffer, in any order, for 100 random lists', () => {
  const random = seededRandom('maps')
  for (let round = 0; round < 100; round++) {
    const written = Array.from({ length: 8 }, () => {
      const cells = randomCells(random, 5, [0, 1, 2])
      return { cells, bytes: write(cells, specsOf(5)) }
    })
    const bytes = new Uint8Array(written.flatMap((body) => [...body.bytes]))
    const starts = written.map((_, index) => written.slice(0, index).reduce((sum, body) => sum + body.bytes.length, 0))
    const map = createCellMap(specsOf(5))
    for (let step = 0; step < 20; step++) {
      const index = random.below(written.length)
      const [start, one] = [starts[index] ?? 0, written[index] ?? { cells: [], bytes: new Uint8Array(0) }]
      expect(mapCells(bytes, start, start + one.bytes.length, map)).toBe(true)
      expect(found(bytes, map)).toEqual(expected(one.cells, 5))
    }
  }
})

it('keeps a layout that repeats, and finds the cells of both kinds', () => {
  const random = seededRandom('kept layouts')
  const specs = specsOf(12, [5])
  const bodies = Array.from({ length: 20 }, () => {
    const cells = randomCells(random, 12, [0, 1, 130])
    return { cells, bytes: write(cells, specs) }
  }).filter(({ cells }) => cells.length > 0)
  for (let round = 0; round < 2; round++)
    for (const { cells, bytes } of bodies) expect(read(bytes, specs)).toEqual(expected(cells, 12))
  expect(specs.last.layout).toBeUndefined()
  for (const { cells, bytes } of bodies) {
    for (let times = 0; times < 5; times++) expect(read(bytes, specs)).toEqual(expected(cells, 12))
    expect(specs.last.layout?.cells.length).toBe(cells.length)
    // Another one in between leaves it.
    const other = random.pick(bodies)
    const kept = specs.last.layout
    expect(read(other.bytes, specs)).toEqual(expected(other.cells, 12))
    expect(specs.last.layout).toBe(kept)
  }
})

/** Rewrites a body as an update does that replaces no cell. */
function rewrite(bytes: Uint8Array, specs: ReturnType<typeof specsOf>): Uint8Array {
  const map = createCellMap(specs)
  expect(mapCells(bytes, 0, bytes.length, map)).toBe(true)
  const layout = createLayoutWriter(specs)
  for (let ordinal = 0; ordinal < specs.ordinals; ordinal++) layout.bits[ordinal] = bitsOf(map, ordinal)
  const unknown = unknownCells(bytes, map)
  const out = new ByteWriter()
  const groups = unknown.map(({ group }) => group)
  if (layout.write(out, groups)) out.raw(bytes.subarray(map.recordCheck, map.recordCheck + 8))
  for (const [ordinal, bits] of layout.bits.entries()) copyContent(bytes, map, { ordinal, bits }, out)
  for (const { content } of unknown) out.raw(content)
  return out.written().slice()
}

describe('a process that knows fewer columns', () => {
  it('reads those it knows, and a rewritten body has all cells, for 300 random bodies and groups', () => {
    const random = seededRandom('fewer columns')
    for (let round = 0; round < 300; round++) {
      const ends = [1 + random.below(4), 5 + random.below(3), 8 + random.below(2)]
      const cells = randomCells(random, 12, [0, 1, 130])
      const bytes = write(cells, specsOf(12, ends))
      for (const [index, known] of ends.entries()) {
        const specs = specsOf(known, ends.slice(0, index))
        expect(read(bytes, specs)).toEqual(expected(cells, known))
        expect(rewrite(bytes, specs)).toEqual(bytes)
      }
    }
  })

  it('has no cells left over of other bodies of its buffer, in any order, for 100 random lists', () => {
    const random = seededRandom('unknown cells of others')
    for (let round = 0; round < 100; round++) {
      const bodies = Array.from({ length: 6 }, () => {
        const cells = randomCells(random, 6, [0, 1, 2])
        return write(cells, specsOf(6, [3]))
      })
      const bytes = new Uint8Array(bodies.flatMap((body) => [...body]))
      const map = createCellMap(specsOf(3))
      for (let step = 0; step < 12; step++) {
        const index = random.below(bodies.length)
        const body = bodies[index] ?? new Uint8Array(0)
        const start = bodies.slice(0, index).reduce((sum, { length }) => sum + length, 0)
        const alone = createCellMap(specsOf(3))
        expect(mapCells(body, 0, body.length, alone)).toBe(true)
        expect(mapCells(bytes, start, start + body.length, map)).toBe(true)
        expect(unknownCells(bytes, map)).toEqual(unknownCells(body, alone))
      }
    }
  })

  it('refuses a body whose groups are not those of its catalog', () => {
    const cell = (ordinal: number): Cell => ({ ordinal, check: 'none', value: Uint8Array.of(ordinal) })
    const bytes = write([cell(0), cell(1), cell(2)], specsOf(4, [1]))
    expect(isMapped(bytes, specsOf(1))).toBe(true)
    expect(isMapped(bytes, specsOf(4, [1]))).toBe(true)
    // The marks cover all columns of a group, so more columns and other groups are no other columns.
    expect(isMapped(bytes, specsOf(5, [2]))).toBe(true)
    // A part of the group of columns 1 to 3.
    for (const known of [2, 3]) expect(isMapped(bytes, specsOf(known, [1]))).toBe(false)
    // Another column in place of the last one.
    const other = toCellSpecs([specOf(0), specOf(1), specOf(2), { ...specOf(3), column: hashOf(9) }], [1])
    expect(isMapped(bytes, other)).toBe(false)
  })
})

it('a body of six cells has a layout of 8 bytes, and one without cells is empty', () => {
  const cells = Array.from(
    { length: 6 },
    (_, ordinal): Cell => ({ ordinal, check: ordinal < 5 ? 'shared' : 'none', value: new Uint8Array(0) }),
  )
  expect(write(cells, specsOf(6)).length).toBe(8 + 8 + 6)
  expect(write([], specsOf(6)).length).toBe(0)
})

it('begins and ends values of every length of their lengths', () => {
  for (const size of SIZES) {
    const out = new ByteWriter(1)
    const start = beginValue(out)
    out.raw(new Uint8Array(size).fill(1))
    endValue(out, start)
    const lengthBytes = size < 0x80 ? 1 : size < 0x4000 ? 2 : 3
    expect(out.length).toBe(lengthBytes + size)
    expect(out.written().subarray(lengthBytes)).toEqual(new Uint8Array(size).fill(1))
  }
})

it('gives 10,000 columns and 15 types different marks, as often as 32 bits can', () => {
  const columns = Array.from({ length: 10_000 }, (_, index) =>
    hashColumn(1, JSON.stringify([index, 'people', `column_${index}`])),
  )
  // Of 32 bits, 10,000 have a pair in common in one of 86 draws; these are fixed.
  const ofTypes = Array.from({ length: 15 }, (_, tag) => hashColumn(tag + 1, 'same'))
  expect(new Set(ofTypes.map((column) => toCellSpecs([{ ordinal: 0, column, size: undefined }]).groupMarks[1])).size).toBe(15)
  const marks = columns.map((column) => toCellSpecs([{ ordinal: 0, column, size: undefined }]).groupMarks[1])
  expect(new Set(marks).size).toBe(10_000)
  // The same two columns behind 10,000 others.
  const [first, second] = [specOf(1), specOf(2)]
  const later = columns.map((column) => toCellSpecs([{ ordinal: 0, column, size: undefined }, first, second]).groupMarks[3])
  expect(new Set(later).size).toBe(10_000)
})
