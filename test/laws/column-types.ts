/** Law: the properties that every column type of the registry has. */
import { inspect, isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect } from 'vitest'
import {
  compareKeys,
  type KeyRange,
  keysThat,
  keysWithPrefix,
  MAX_KEY_BYTES,
  NULL_KEY,
  orderKey,
  valueOfKey,
} from '../../src/core/index-runs/order-key.ts'
import type { Cell } from '../../src/core/ports/storage.ts'
import { ByteWriter } from '../../src/core/util/bytes.ts'
import { type ColumnTypeName, ValueError } from '../../src/core/values/column-type.ts'
import { type AnyColumnType, columnTypes } from '../../src/core/values/column-types.ts'
import { columnTypeSamples, type Samples } from '../support/column-types/samples.ts'
import { hostileInputs } from '../support/vaults/hostile-inputs.ts'
import type { Law } from './law.ts'

/** Random inputs of each property in a case. */
const RUNS = 1000

const names = Object.keys(columnTypes) as ColumnTypeName[] // Object.keys widens to string; the registry's type says which.
const salt = fc.nat(100)

/** Throws if the property does not hold for a type; `runs` says how many random inputs, and from which seed. */
export type ColumnTypeProperty = (type: AnyColumnType, samples: Samples<unknown>, runs: Runs) => void

/** Random inputs of a property. */
export interface Runs {
  readonly seed: number
  readonly numRuns: number
}

export const columnTypeProperties: Readonly<Record<string, ColumnTypeProperty>> = {
  'reads back what it wrote, at any offset': (type, samples, runs) => {
    fc.assert(
      fc.property(valuesOf(type, samples), fc.nat(20), (value, before) => {
        const out = new ByteWriter(4)
        for (let i = 0; i < before; i++) out.u8(0xff)
        type.write(value, out)
        const end = out.length
        if (type.size !== undefined) expect(end - before).toBe(type.size)
        out.u8(0x61)
        expectSame(type.read(out.written(), before, end), value)
      }),
      runs,
    )
  },

  'writes one value in one canonical form, for every spelling of the input': (type, samples, runs) => {
    fc.assert(
      fc.property(samples.keys, salt, salt, (key, one, other) => {
        const left = type.parse(samples.write(key, one))
        const right = type.parse(samples.write(key, other))
        expectSame(canonicalOf(type, left), canonicalOf(type, right))
      }),
      runs,
    )
  },

  'has equal canonical bytes only for equal values, even for values that are nearly equal': (type, samples, runs) => {
    const near = fc.tuple(samples.keys, salt).map(([key, choice]) => [key, samples.near(key, choice)] as const)
    fc.assert(
      fc.property(fc.oneof(near, fc.tuple(samples.keys, samples.keys)), salt, ([left, right], choice) => {
        const bytes = canonicalOf(type, type.parse(samples.write(left, choice)))
        const others = canonicalOf(type, type.parse(samples.write(right, choice)))
        expect(isDeepStrictEqual(bytes, others)).toBe(isDeepStrictEqual(left, right))
      }),
      runs,
    )
  },

  'reads the same value back from a cell of its physical type': (type, samples, runs) => {
    fc.assert(
      fc.property(valuesOf(type, samples), (value) => {
        const cell = type.toCell(value)
        expectSame(type.fromCell(cell), value)
        expect(fits(type, cell)).toBe(true)
      }),
      runs,
    )
  },

  'orders cells as it orders values, by time or by number': (type, samples, runs) => {
    fc.assert(
      fc.property(samples.keys, samples.keys, salt, (key, far, choice) => {
        for (const other of [far, samples.near(key, choice), key]) {
          const left = type.parse(samples.write(key, choice))
          const right = type.parse(samples.write(other, choice))
          const order = type.compare(left, right)
          if (order === undefined) continue
          expect(Math.sign(order)).toBe(cellOrder(type.toCell(left), type.toCell(right)))
          expect(Math.sign(order) + Math.sign(type.compare(right, left) ?? Number.NaN)).toBe(0)
          if (samples.order !== undefined) expect(Math.sign(order)).toBe(Math.sign(samples.order(key, other)))
        }
      }),
      runs,
    )
  },

  'has order keys that compare as values do, but for texts that are cut, and reads values back from them': (
    type,
    samples,
    runs,
  ) => {
    if (type.keyForm === undefined) return
    fc.assert(
      fc.property(samples.keys, samples.keys, salt, (sample, far, choice) => {
        const left = type.parse(samples.write(sample, choice))
        const key = orderKey(type, left)
        expect(compareKeys(key, NULL_KEY)).toBeLessThan(0)
        if (type.isText !== true) {
          expectSame(valueOfKey(type, key), left)
          expect(key.length).toBe(orderKey(type, type.parse(samples.write(far, choice))).length)
        }
        for (const other of [far, samples.near(sample, choice), sample]) {
          const right = type.parse(samples.write(other, choice))
          const otherKey = orderKey(type, right)
          const order = Math.sign(compareKeys(key, otherKey))
          const isCut = order === 0 && key.length === MAX_KEY_BYTES
          if (!isCut) expect(order).toBe(Math.sign(type.compare(left, right) ?? Number.NaN))
          expectInRanges(type, left, right)
        }
      }),
      runs,
    )
  },

  'reads its own text and its own JSON as the same value': (type, samples, runs) => {
    fc.assert(
      fc.property(valuesOf(type, samples), (value) => {
        expectSame(type.fromText(type.toText(value)), value)
        expectSame(type.parse(JSON.parse(JSON.stringify(type.toJson(value)))), value)
      }),
      runs,
    )
  },

  'reads random text as a stable value, or rejects it with an error that does not quote it': (type, _samples, runs) => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.string({ unit: fc.constantFrom(...'0123456789-:.TZ+e') }),
      fc.constantFrom('-0', '2026-02-30', '24:00:00', '23:59:60', '[null]', '1e-400'),
    )
    fc.assert(
      fc.property(texts, (text) => {
        const value = attempt(() => type.fromText(text))
        if (value !== REFUSED) expectSame(type.fromText(type.toText(value)), value)
      }),
      runs,
    )
  },

  'rejects hostile input with an error that does not quote it, or reads it as plain data, and changes none': (type) => {
    for (const [what, input] of hostileInputs()) {
      const before = lookOf(input)
      try {
        const value = attempt(() => type.parse(input))
        if (value !== REFUSED) expectSame(readBack(type, value), value)
      } catch (error) {
        throw new Error(`${what}: ${error instanceof Error ? error.message : 'threw what is no error'}`)
      }
      expect(lookOf(input)).toBe(before)
    }
    expect({}).not.toHaveProperty('polluted')
  },
}

/** A case is one column type with every property. */
export const columnTypesLaw: Law = {
  name: 'column-types',
  statement: 'Every column type keeps each value in bytes, cells, text and JSON, and rejects hostile input without quoting it',
  unit: 'inputs',
  figures: { test: 80_000, soak: 8_000_000 },
  weight: 1,
  open: () => ({
    check({ number, random }) {
      const name = names[number % names.length] ?? 'STRING'
      const properties = Object.entries(columnTypeProperties)
      for (const [property, holds] of properties) {
        try {
          const samples = columnTypeSamples[name]
          holds(samples.type ?? columnTypes[name], samples, { seed: random.below(2 ** 31), numRuns: RUNS })
        } catch (error) {
          throw new Error(`${name} ${property}`, { cause: error })
        }
      }
      // The hostile inputs are a fixed list.
      return (properties.length - 1) * RUNS
    },
  }),
}

/** The range of each comparison has the keys of all values that compare so, and of no others if it is exact. */
function expectInRanges(type: AnyColumnType, left: unknown, right: unknown): void {
  const key = orderKey(type, left)
  const order = type.compare(left, right) ?? Number.NaN
  const holds = { '=': order === 0, '<': order < 0, '<=': order <= 0, '>': order > 0, '>=': order >= 0 }
  for (const operator of ['=', '<', '<=', '>', '>='] as const) {
    const { range, isExact } = keysThat(operator, type, right)
    const isIn = isInRange(range, key)
    if (holds[operator] || isExact) expect([operator, isIn]).toEqual([operator, holds[operator]])
  }
  if (typeof left !== 'string' || typeof right !== 'string' || type.isText !== true) return
  const { range, isExact } = keysWithPrefix(type, right)
  if (left.startsWith(right) || isExact) expect(isInRange(range, key)).toBe(left.startsWith(right))
}

function isInRange({ low, high }: KeyRange, key: Uint8Array): boolean {
  return (low === undefined || compareKeys(key, low) >= 0) && (high === undefined || compareKeys(key, high) < 0)
}

const REFUSED = Symbol('refused')

/** The result, or REFUSED for a `ValueError` that is a clause about what must hold. Any other error is thrown on. */
function attempt(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    expect(error.message).toMatch(/^must /)
    expect(error.message).not.toContain('secret')
    expect(error.message.length).toBeLessThan(200)
    return REFUSED
  }
}

function valuesOf(type: AnyColumnType, samples: Samples<unknown>): fc.Arbitrary<unknown> {
  return fc.tuple(samples.keys, salt).map(([key, choice]) => type.parse(samples.write(key, choice)))
}

/** Compares by node:util, which also sees a member named `__proto__`. */
function expectSame(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) throw new Error(`${inspect(actual)} is not ${inspect(expected)}`)
}

function canonicalOf(type: AnyColumnType, value: unknown): Uint8Array {
  const out = new ByteWriter(4)
  type.canonical(value, out)
  return out.written().slice()
}

function readBack(type: AnyColumnType, value: unknown): unknown {
  const out = new ByteWriter()
  type.write(value, out)
  return type.read(out.bytes, 0, out.length)
}

function fits(type: AnyColumnType, cell: Cell): boolean {
  switch (type.physical) {
    case 'integer':
      return typeof cell === 'bigint' ? !Number.isSafeInteger(Number(cell)) : Number.isSafeInteger(cell)
    case 'real':
      return typeof cell === 'number'
    case 'text':
      return typeof cell === 'string'
    case 'bytes':
      return cell instanceof Uint8Array
  }
}

/** How an engine orders two cells: numbers by size, text by its UTF-8 bytes, which is by code point. */
function cellOrder(left: Cell, right: Cell): number {
  if (typeof left === 'string' && typeof right === 'string') return Buffer.compare(Buffer.from(left), Buffer.from(right))
  if (left === null || right === null) throw new Error('a value has no null cell')
  return left < right ? -1 : left > right ? 1 : 0
}

/** What is visible of an input without running any of its code. */
function lookOf(input: unknown): string {
  return inspect(input, { showProxy: true, customInspect: false, depth: 6, maxArrayLength: 20, maxStringLength: 100 })
}
