/** Sealed entries of the audit trail: each opens only in its own row, kind and vault. */
import { expect, it } from 'vitest'
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { type EntriesAddress, openEntries, sealEntries } from '../../../src/core/sealing/envelope.ts'
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
