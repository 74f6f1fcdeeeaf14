/** The key of one content: made of its secret alone, in both implementations, and of no use after it was closed. */
import { expect, it } from 'vitest'
import { slabItem, toSlab } from '../../../src/core/util/memory.ts'
import { IMPLEMENTATIONS } from './implementations.ts'
import { seededBytes } from './seeded-bytes.ts'

const random = seededBytes('content key 1')
const HEADER = Uint8Array.of(4)

it.each(IMPLEMENTATIONS)(
  'a content key of $name opens what its secret sealed, and nothing after it or its ring was closed',
  ({ factory }) => {
    const ringOf = (version: number) => factory.createRing('vault', [{ version, key: random.bytes(32) }])
    const [one, other] = [ringOf(1), ringOf(2)]
    const secret = random.bytes(32)
    const [plaintexts, aad] = [toSlab([random.bytes(70_000), random.bytes(5)]), random.bytes(64)]
    const used = one.contentKey(secret)
    const sealed = used.seal(HEADER, plaintexts, aad)
    // Both implementations, and any ring, make the same key of a secret.
    const rings = IMPLEMENTATIONS.map((made) => made.factory.createRing('vault 2', [{ version: 1, key: random.bytes(32) }]))
    for (const ring of [other, ...rings]) {
      const key = ring.contentKey(secret)
      const { plaintexts: opened } = key.open(1, sealed, aad)
      for (const index of [0, 1]) expect(Buffer.compare(slabItem(opened, index), slabItem(plaintexts, index))).toBe(0)
      key.close()
    }
    expect([...other.contentKey(random.bytes(32)).open(1, sealed, aad).opened]).toEqual([0, 0])
    expect([...other.open('file', 1, Uint16Array.of(2, 2), sealed, aad).opened]).toEqual([0, 0])
    for (const closed of [used, one.contentKey(secret)]) {
      closed.close()
      closed.close()
      expect(() => closed.seal(HEADER, plaintexts, aad)).toThrow(/closed/)
    }
    const held = other.contentKey(secret)
    held.open(1, sealed, aad)
    other.close()
    expect(() => held.open(1, sealed, aad)).toThrow(/closed/)
    held.close()
    expect(() => other.contentKey(secret)).toThrow(/closed/)
    expect(() => one.contentKey(new Uint8Array(31))).toThrow(/32 bytes/)
  },
)
