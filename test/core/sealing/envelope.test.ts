/** The envelope: entries open only in their own row, kind and vault, every pointer that fits is read back, and every part of an address changes the associated data. */
import { expect, it } from 'vitest'
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { MAX_OBJECT_IDS } from '../../../src/core/limits.ts'
import { AAD_BYTES, POINTER_WORDS } from '../../../src/core/ports/crypto.ts'
import { MAX_ROW_ID } from '../../../src/core/ports/storage.ts'
import {
  type EntriesAddress,
  formatOf,
  HEADER_BYTES,
  LONG_FORMAT,
  openEntries,
  readPointer,
  readVersion,
  SHORT_FORMAT,
  sealEntries,
  writeAssociatedData,
  writeBodyHeader,
  writeHeader,
  writePointer,
} from '../../../src/core/sealing/envelope.ts'
import { slabItem } from '../../../src/core/util/memory.ts'

const RING = keyRingFactory.createRing('v1', [{ version: 1, key: new Uint8Array(32).fill(9) }])
const EVENTS: EntriesAddress = { ring: RING, vault: new Uint8Array(16).fill(1), kind: 'event' }
const IDS = [2 ** 32 + 1, 2 ** 32 + 2, 2 ** 48 - 1]
const PLAIN = IDS.map((_, index) => new Uint8Array(index * 700).fill(index))

function sealed(address = EVENTS): Uint8Array[] {
  const slab = sealEntries(address, IDS, PLAIN)
  return IDS.map((_, index) => slabItem(slab, index).slice())
}

it('opens a list to what was sealed, in order', () => {
  const { plaintexts, opened } = openEntries(EVENTS, IDS, sealed())
  expect([...opened]).toEqual([1, 1, 1])
  expect(IDS.map((_, index) => slabItem(plaintexts, index))).toEqual(PLAIN)
})

it('does not open an entry moved to another row, but its neighbors', () => {
  const [one, two, three] = sealed()
  const moved = [two, one, three].flatMap((entry) => entry ?? [])
  expect([...openEntries(EVENTS, IDS, moved).opened]).toEqual([0, 0, 1])
})

it('does not open an entry of another kind or another vault', () => {
  expect([...openEntries({ ...EVENTS, kind: 'head' }, IDS, sealed()).opened]).toEqual([0, 0, 0])
  expect([...openEntries({ ...EVENTS, vault: new Uint8Array(16) }, IDS, sealed()).opened]).toEqual([0, 0, 0])
})

it('does not open an entry that is truncated, empty or changed', () => {
  const entry = sealed()[1] ?? Uint8Array.of()
  const id = IDS[1] ?? 0
  const changed = Array.from(entry.keys(), (at) => entry.map((byte, index) => (index === at ? byte ^ 1 : byte)))
  const all = [entry.subarray(0, -1), Uint8Array.of(), ...changed.slice(0, 60)]
  expect(all.flatMap((one) => [...openEntries(EVENTS, [id], [one]).opened])).toEqual(all.map(() => 0))
})

it('reads back a pointer with every object id, row and token check', () => {
  const pointers = [0, 1, MAX_OBJECT_IDS].flatMap((objectId) =>
    [0, 1, 2 ** 32 - 1, 2 ** 32, MAX_ROW_ID].flatMap((row) =>
      [0, 0x03ff_ffff].map((checkHigh) => ({ objectId, row, checkHigh, checkLow: 0xffff_ffff })),
    ),
  )
  const words = new Uint32Array(pointers.length * POINTER_WORDS)
  for (const [index, pointer] of pointers.entries()) writePointer(words, index, pointer)
  expect(pointers.map((_, index) => readPointer(words, index))).toEqual(pointers)
})

it('changes associated data with vault, table, row and key version only', () => {
  const base = { vault: new Uint8Array(16).fill(1), objectId: 7 }
  const one = (address: typeof base, id: number, version: number) =>
    Buffer.from(writeAssociatedData(address, [id], () => version)).toString('hex')
  const associatedData = [
    one(base, 5, 1),
    one({ ...base, vault: new Uint8Array(16).fill(2) }, 5, 1),
    one({ ...base, objectId: 8 }, 5, 1),
    one(base, 6, 1),
    one(base, 5 + 2 ** 32, 1),
    one(base, 5, 2),
  ]
  expect(new Set(associatedData).size).toBe(associatedData.length)
  expect(one(base, 5, 1)).toBe(associatedData[0])
  expect(associatedData.every((context) => context.length === AAD_BYTES * 2)).toBe(true)
})

it('returns the version and the format of a header, and version 0 for other bytes', () => {
  for (const version of [1, 127, 128, 255, 256, 65_535]) {
    const body = writeBodyHeader(version)
    expect(readVersion(writeHeader(version), 0, HEADER_BYTES)).toBe(version)
    expect(readVersion(body, 0, body.length)).toBe(version)
    expect([body.length, formatOf(body[0] ?? 0)]).toEqual(version < 128 ? [1, SHORT_FORMAT] : [HEADER_BYTES, LONG_FORMAT])
  }
  expect(readVersion(Uint8Array.of(LONG_FORMAT + 1, 0, 1), 0, 3)).toBe(0)
  expect(readVersion(Uint8Array.of(LONG_FORMAT, 0), 0, 2)).toBe(0)
  expect(readVersion(Uint8Array.of(0x80), 0, 1)).toBe(0)
  expect(readVersion(new Uint8Array(0), 0, 0)).toBe(0)
})

it('the format of a body is in its associated data', () => {
  const address = { vault: new Uint8Array(16).fill(1), objectId: 7 }
  const both = [LONG_FORMAT, SHORT_FORMAT]
  const associatedData = writeAssociatedData(
    address,
    [5, 5],
    () => 1,
    (index) => both[index] ?? 0,
  )
  expect([associatedData[0], associatedData[AAD_BYTES]]).toEqual(both)
  expect(associatedData.subarray(1, AAD_BYTES)).toEqual(associatedData.subarray(AAD_BYTES + 1))
})
