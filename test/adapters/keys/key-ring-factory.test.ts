/** The key ring as core uses it: sealing and opening lists, rotation, digests and pointers that never rotate. */
import { gcm } from '@noble/ciphers/aes.js'
import { describe, expect, it } from 'vitest'
import { deriveKey } from '../../../src/adapters/keys/key-bytes.ts'
import { MODULE_PRIMITIVES } from '../../../src/adapters/keys/key-ring-factory.ts'
import { getWasm, REGION } from '../../../src/adapters/keys/wasm/wasm.ts'
import { VaultError } from '../../../src/core/errors.ts'
import type { KeyRing, Opened } from '../../../src/core/ports/crypto.ts'
import { type Slab, slabItem, slabStart, toSlab } from '../../../src/core/util/memory.ts'
import { IMPLEMENTATIONS } from './implementations.ts'
import { toHex } from './read-vectors.ts'
import { seededBytes } from './seeded-bytes.ts'

const SEED = 'key ring 1'
const HEADER = Uint8Array.from([1, 0, 1])
const SHORT_HEADER = Uint8Array.from([0x81])
const MAX_BATCHED_BYTES = MODULE_PRIMITIVES.maxBatchedBytes
const random = seededBytes(SEED)
const roots = [1, 2, 3].map((version) => ({ version, key: random.bytes(32) }))

function items(slab: Slab): string[] {
  return Array.from({ length: slab.count }, (_, i) => toHex(slabItem(slab, i)))
}

/** A header of the long form. */
function longHeader(length: number): Uint8Array {
  return random.bytes(length).map((byte, index) => (index === 0 ? byte & 0x7f : byte))
}

function versionsOf(count: number, version: number): Uint16Array {
  return new Uint16Array(count).fill(version)
}

function flagsOf(opened: Opened): number[] {
  return Array.from(opened.opened)
}

/** Lengths around every limit: empty, blocks, the maximum of the module, and long ones between short ones. */
const LENGTHS = [0, 1, 15, 16, 17, 100, MAX_BATCHED_BYTES, MAX_BATCHED_BYTES + 1, 5, 40_000, 0, 300, 1_000_000, 64]

describe.each(IMPLEMENTATIONS)('$name', ({ factory: keyRingFactory, createXaesKey }) => {
  function ringOf(...versions: readonly number[]): KeyRing {
    return keyRingFactory.createRing(
      'vault',
      roots.filter((root) => versions.includes(root.version)),
    )
  }

  it('sealed bodies open in the same order, short and long, under headers of any length', () => {
    const ring = ringOf(1)
    const messages = LENGTHS.map((length) => random.bytes(length))
    const associatedData = random.bytes(32 * messages.length)
    for (const headerBytes of [1, 3, 12, 372, 373, 385, 1000]) {
      const header = longHeader(headerBytes)
      const bodies = ring.seal('records', header, toSlab(messages), associatedData)
      expect(bodies.count).toBe(messages.length)
      for (const [i, message] of messages.entries()) {
        const body = slabItem(bodies, i)
        expect(body.length).toBe(headerBytes + 24 + message.length + 16)
        expect(toHex(body.subarray(0, headerBytes))).toBe(toHex(header))
      }
      const opened = ring.open('records', headerBytes, versionsOf(messages.length, 1), bodies, associatedData)
      expect(flagsOf(opened)).toEqual(messages.map(() => 1))
      expect(items(opened.plaintexts)).toEqual(messages.map(toHex))
    }
  })

  it('a body equals XAES-256-GCM computed with an independent AES-GCM', () => {
    const message = random.bytes(77)
    const context = random.bytes(32)
    const body = slabItem(ringOf(1).seal('records', HEADER, toSlab([message]), context), 0)
    const sealing = deriveKey(roots[0]?.key ?? new Uint8Array(), 'vault', { kind: 'seal', version: 1, purpose: 'records' })
    const secret = Uint8Array.from(createXaesKey(sealing).derive(body, 3).secret)
    expect(toHex(gcm(secret, body.slice(15, 27), context).encrypt(message))).toBe(toHex(body.subarray(27)))
  })

  it('one changed bit after the header fails only its own body, at any size', () => {
    const ring = ringOf(1)
    const messages = [random.bytes(20), random.bytes(50), random.bytes(3000), random.bytes(9), random.bytes(2000)]
    const associatedData = random.bytes(32 * messages.length)
    const bodies = ring.seal('records', HEADER, toSlab(messages), associatedData)
    for (let round = 0; round < 400; round++) {
      const victim = random.below(messages.length)
      const changed = Uint8Array.from(bodies.bytes)
      const start = slabStart(bodies, victim)
      const at = start + 3 + random.below((bodies.ends[victim] ?? 0) - start - 3)
      changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8))
      const opened = ring.open('records', 3, versionsOf(5, 1), { ...bodies, bytes: changed }, associatedData)
      expect(flagsOf(opened), `seed ${SEED}, round ${round}`).toEqual(messages.map((_, i) => (i === victim ? 0 : 1)))
      expect(items(opened.plaintexts)).toEqual(messages.map((message, i) => (i === victim ? '' : toHex(message))))
    }
  })

  it('a body does not open under other associated data, another purpose, version, vault or ring', () => {
    const ring = ringOf(1, 2)
    const messages = [random.bytes(30), random.bytes(3000)]
    const associatedData = random.bytes(64)
    const bodies = ring.seal('records', HEADER, toSlab(messages), associatedData)
    const swapped = Uint8Array.from([...associatedData.subarray(32), ...associatedData.subarray(0, 32)])
    const other = keyRingFactory.createRing('other vault', roots)
    const refused = [
      ring.open('records', 3, versionsOf(2, 2), bodies, swapped),
      ring.open('files', 3, versionsOf(2, 2), bodies, associatedData),
      ring.open('records', 3, versionsOf(2, 1), bodies, associatedData),
      ring.open('records', 3, versionsOf(2, 7), bodies, associatedData),
      ring.open('records', 3, versionsOf(2, 0), bodies, associatedData),
      ring.open('records', 2, versionsOf(2, 2), bodies, associatedData),
      other.open('records', 3, versionsOf(2, 2), bodies, associatedData),
      ringOf(1).open('records', 3, versionsOf(2, 2), bodies, associatedData),
    ]
    for (const opened of refused) {
      expect(flagsOf(opened)).toEqual([0, 0])
      expect(opened.plaintexts.bytes.length).toBe(0)
      expect(Array.from(opened.plaintexts.ends)).toEqual([0, 0])
    }
    expect(flagsOf(ring.open('records', 3, versionsOf(2, 2), bodies, associatedData))).toEqual([1, 1])
  })

  it('bodies that are too short fail beside valid ones', () => {
    const ring = ringOf(1)
    const context = random.bytes(32)
    const good = slabItem(ring.seal('records', HEADER, toSlab([random.bytes(5)]), context), 0)
    const bodies = [new Uint8Array(0), good, good.subarray(0, 42), good.subarray(0, 43), good, new Uint8Array(43)]
    const associatedData = Uint8Array.from(bodies.flatMap(() => [...context]))
    const opened = ring.open('records', 3, versionsOf(bodies.length, 1), toSlab(bodies), associatedData)
    expect(flagsOf(opened)).toEqual([0, 1, 0, 0, 1, 0])
    expect(items(opened.plaintexts).map((text) => text.length)).toEqual([0, 10, 0, 0, 10, 0])
  })

  it('opening one body equals opening it in a list, for lengths 0 to 300 and near the maximum of the module', () => {
    const ring = ringOf(1)
    const lengths = [...Array.from({ length: 301 }, (_, length) => length), MAX_BATCHED_BYTES, MAX_BATCHED_BYTES + 1, 5000]
    const messages = lengths.map((length) => random.bytes(length))
    for (const headerBytes of [1, 3, 385]) {
      const associatedData = random.bytes(32 * messages.length)
      const bodies = ring.seal('records', longHeader(headerBytes), toSlab(messages), associatedData)
      for (const [i, message] of messages.entries()) {
        const context = associatedData.subarray(i * 32, i * 32 + 32)
        const { plaintexts, opened } = ring.open('records', headerBytes, versionsOf(1, 1), toSlab([slabItem(bodies, i)]), context)
        expect(opened[0], `${message.length} bytes`).toBe(1)
        expect(plaintexts.count).toBe(1)
        expect(plaintexts.ends[0]).toBe(message.length)
        expect(Object.getPrototypeOf(plaintexts.bytes)).toBe(Uint8Array.prototype)
        expect(toHex(plaintexts.bytes)).toBe(toHex(message))
      }
    }
  })

  it('a body sealed alone equals the independent implementation for lengths 0 to 200', () => {
    const ring = ringOf(1)
    const sealing = deriveKey(roots[0]?.key ?? new Uint8Array(), 'vault', { kind: 'seal', version: 1, purpose: 'records' })
    for (let length = 0; length <= 200; length++) {
      const message = random.bytes(length)
      const context = random.bytes(32)
      const body = slabItem(ring.seal('records', HEADER, toSlab([message]), context), 0)
      const secret = Uint8Array.from(createXaesKey(sealing).derive(body, 3).secret)
      expect(toHex(gcm(secret, body.slice(15, 27), context).encrypt(message)), `${length} bytes`).toBe(toHex(body.subarray(27)))
    }
  })

  it('one body does not open with a changed bit, other associated data, another version, or truncated', () => {
    const ring = ringOf(1, 2)
    for (const length of [0, 1, 40, 112, 113, 2000]) {
      const context = random.bytes(32)
      const body = slabItem(ring.seal('records', HEADER, toSlab([random.bytes(length)]), context), 0)
      const refused = (bytes: Uint8Array, version: number, beside: Uint8Array): void => {
        const { plaintexts, opened } = ring.open('records', 3, versionsOf(1, version), toSlab([bytes]), beside)
        expect([opened[0], plaintexts.bytes.length, plaintexts.ends[0], plaintexts.count], `${length} bytes`).toEqual([
          0, 0, 0, 1,
        ])
      }
      for (let round = 0; round < 60; round++) {
        const changed = Uint8Array.from(body)
        const at = 3 + random.below(body.length - 3)
        changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8))
        refused(changed, 2, context)
      }
      refused(body, 2, random.bytes(32))
      refused(body, 1, context)
      refused(body, 7, context)
      for (const cut of [0, 1, 3, 42, body.length - 1]) refused(body.subarray(0, cut), 2, context)
      expect(flagsOf(ring.open('records', 3, versionsOf(1, 2), toSlab([body]), context))).toEqual([1])
    }
  })

  it('bodies of many versions and processes in one list open at their own index', () => {
    const writers = [1, 2, 3].flatMap((newest) => Array.from({ length: 100 }, () => ringOf(...[1, 2, 3].slice(0, newest))))
    const messages = Array.from({ length: 2000 }, () => random.bytes(random.below(60)))
    const associatedData = random.bytes(32 * messages.length)
    const versions = new Uint16Array(messages.length)
    const bodies = messages.map((message, i) => {
      const writer = writers[random.below(writers.length)] ?? ringOf(1)
      versions[i] = writer.activeVersion
      return slabItem(writer.seal('records', HEADER, toSlab([message]), associatedData.subarray(i * 32, i * 32 + 32)), 0)
    })
    const opened = ringOf(1, 2, 3).open('records', 3, versions, toSlab(bodies), associatedData)
    expect(opened.opened.every((flag) => flag === 1)).toBe(true)
    expect(items(opened.plaintexts)).toEqual(messages.map(toHex))
  })

  it('nonces of a process share their first half and never repeat', () => {
    const ring = ringOf(1)
    const bodies = ring.seal(
      'records',
      HEADER,
      toSlab(Array.from({ length: 5000 }, () => new Uint8Array(1))),
      new Uint8Array(5000 * 32),
    )
    const nonces = items(bodies).map((body) => body.slice(6, 54))
    expect(new Set(nonces.map((nonce) => nonce.slice(0, 24))).size).toBe(1)
    expect(new Set(nonces).size).toBe(5000)
  })

  describe('bodies of the short form', () => {
    it('store 18 bytes of a nonce whose other 6 bytes are zero, and equal an independent XAES-256-GCM', () => {
      const ring = ringOf(1)
      const sealing = deriveKey(roots[0]?.key ?? new Uint8Array(), 'vault', { kind: 'seal', version: 1, purpose: 'records' })
      const xaes = createXaesKey(sealing)
      for (const length of [...Array.from({ length: 100 }, (_, i) => i), MAX_BATCHED_BYTES, MAX_BATCHED_BYTES + 1, 40_000]) {
        const message = random.bytes(length)
        const context = random.bytes(32)
        const body = slabItem(ring.seal('records', SHORT_HEADER, toSlab([message]), context), 0)
        expect(body.length).toBe(1 + 18 + length + 16)
        const nonce = new Uint8Array(24)
        nonce.set(body.subarray(1, 7))
        nonce.set(body.subarray(7, 19), 12)
        const secret = Uint8Array.from(xaes.derive(nonce, 0).secret)
        expect(toHex(gcm(secret, nonce.subarray(12), context).encrypt(message)), `${length} bytes`).toBe(toHex(body.subarray(19)))
      }
    })

    it('share the 6 bytes of a process, and repeat no nonce', () => {
      const plaintexts = toSlab(Array.from({ length: 5000 }, () => new Uint8Array(1)))
      const bodies = ringOf(1).seal('records', SHORT_HEADER, plaintexts, new Uint8Array(5000 * 32))
      const nonces = items(bodies).map((body) => body.slice(2, 38))
      expect(new Set(nonces.map((nonce) => nonce.slice(0, 12))).size).toBe(1)
      expect(new Set(nonces).size).toBe(5000)
    })

    it('open beside those of the long form and of other writers, alone and in lists, and one changed bit fails one body', () => {
      const key = roots[0]?.key ?? new Uint8Array()
      const writers = [0, 1, 2].map(() => keyRingFactory.createRing('vault', [{ version: 1, key }]))
      for (let round = 0; round < 30; round++) {
        const messages = Array.from({ length: 1 + random.below(40) }, () =>
          random.bytes(random.below(random.below(9) === 0 ? 3000 : 60)),
        )
        const associatedData = random.bytes(32 * messages.length)
        const bodies = messages.map((message, i) => {
          const header = random.below(2) === 0 ? HEADER : SHORT_HEADER
          const context = associatedData.subarray(i * 32, i * 32 + 32)
          const writer = writers[random.below(3)]
          return Uint8Array.from(
            writer === undefined ? [] : slabItem(writer.seal('records', header, toSlab([message]), context), 0),
          )
        })
        const ring = ringOf(1)
        const all = ring.open('records', 3, versionsOf(messages.length, 1), toSlab(bodies), associatedData)
        expect(flagsOf(all)).toEqual(messages.map(() => 1))
        expect(items(all.plaintexts)).toEqual(messages.map(toHex))
        const victim = random.below(messages.length)
        const changed = bodies[victim] ?? new Uint8Array()
        const at = 3 + random.below(changed.length - 3)
        changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8))
        const others = ring.open('records', 3, versionsOf(messages.length, 1), toSlab(bodies), associatedData)
        expect(flagsOf(others)).toEqual(messages.map((_, i) => (i === victim ? 0 : 1)))
        const context = associatedData.subarray(victim * 32, victim * 32 + 32)
        expect(flagsOf(ring.open('records', 3, versionsOf(1, 1), toSlab([changed]), context))).toEqual([0])
      }
    })

    it('do not open truncated to any length, and are XAES-256-GCM with the whole nonce', () => {
      const ring = ringOf(1)
      const context = random.bytes(32)
      const body = slabItem(ring.seal('records', SHORT_HEADER, toSlab([random.bytes(5)]), context), 0)
      for (let length = 0; length < body.length; length++) {
        for (const bodies of [[body.subarray(0, length)], [body.subarray(0, length), body]]) {
          const { opened } = ring.open(
            'records',
            3,
            versionsOf(bodies.length, 1),
            toSlab(bodies),
            concatenated(bodies.map(() => context)),
          )
          expect(Array.from(opened)).toEqual(bodies.length === 1 ? [0] : [0, 1])
        }
      }
      const long = concatenated([HEADER, body.subarray(1, 7), new Uint8Array(6), body.subarray(7)])
      expect(flagsOf(ring.open('records', 3, versionsOf(1, 1), toSlab([long]), context))).toEqual([1])
      expect(() => ring.seal('records', Uint8Array.of(0x81, 0), toSlab([body]), context)).toThrow(VaultError)
      expect(() => ring.seal('records', new Uint8Array(0), toSlab([body]), context)).toThrow(VaultError)
    })
  })

  function concatenated(parts: readonly Uint8Array[]): Uint8Array {
    return Uint8Array.from(parts.flatMap((part) => [...part]))
  }

  it('new bodies are sealed under the newest version, in any order of root keys', () => {
    const ring = keyRingFactory.createRing('vault', roots.toReversed())
    expect(ring.activeVersion).toBe(3)
    const bodies = ring.seal('records', HEADER, toSlab([random.bytes(4)]), new Uint8Array(32))
    expect(flagsOf(ring.open('records', 3, versionsOf(1, 3), bodies, new Uint8Array(32)))).toEqual([1])
  })

  it('digests and pointers stay the same when a root key is added, and differ by scope and vault', () => {
    const inputs = toSlab([random.bytes(20), random.bytes(3)])
    const words = Uint32Array.from([1 << 16, 7, 0, 9])
    const [before, after] = [ringOf(1), keyRingFactory.createRing('vault', roots.toReversed())]
    expect(after.digest(1, 'a', inputs)).toEqual(before.digest(1, 'a', inputs))
    expect(after.encryptPointers(1, words)).toEqual(before.encryptPointers(1, words))
    expect(before.decryptPointers(1, after.encryptPointers(1, words)).words).toEqual(words)
    const other = keyRingFactory.createRing('other vault', roots)
    const distinct = [before.digest(1, 'a', inputs), before.digest(1, 'b', inputs), other.digest(1, 'a', inputs)].map(toHex)
    expect(new Set(distinct).size).toBe(3)
    expect(other.encryptPointers(1, words)).not.toEqual(before.encryptPointers(1, words))
  })

  it('known root keys give known digests and pointers, because these derivations never change', () => {
    const ring = keyRingFactory.createRing('v1', [{ version: 1, key: new Uint8Array(32).fill(1) }])
    expect(toHex(ring.digest(1, 'cards.number', toSlab([Buffer.from('4111')])))).toBe('cb7934b84db32ac345a5121b441117c2')
    expect(ring.encryptPointers(1, Uint32Array.from([1 << 16, 7, 0, 9]))).toEqual(['1b31d675-ecf6-47d6-ad97-fb72a763202a'])
  })

  it('the ring copies its root keys, so wiping them changes nothing', () => {
    const key = random.bytes(32)
    const ring = keyRingFactory.createRing('vault', [{ version: 1, key }])
    const expected = keyRingFactory.createRing('vault', [{ version: 1, key: Uint8Array.from(key) }]).digest(1, 'a', toSlab([key]))
    const input = toSlab([Uint8Array.from(key)])
    key.fill(0)
    expect(ring.digest(1, 'a', input)).toEqual(expected)
  })

  it('no plaintext is left in the memory of the module after sealing, opening and digesting', () => {
    const ring = ringOf(1)
    const mark = random.bytes(48)
    const messages = Array.from({ length: 50 }, () => mark)
    const associatedData = random.bytes(50 * 32)
    const bodies = ring.seal('records', HEADER, toSlab(messages), associatedData)
    ring.open('records', 3, versionsOf(50, 1), bodies, associatedData)
    ring.digest(1, 'scope', toSlab(messages))
    ring.open('records', 3, versionsOf(1, 1), toSlab([slabItem(bodies, 0)]), associatedData.subarray(0, 32))
    ring.digest(1, 'scope', toSlab([mark]))
    const words = Uint32Array.of(0x10000, 7, 0x1234567, 0x89abcdef)
    ring.decryptPointers(1, ring.encryptPointers(1, words))
    const { memory } = getWasm()
    expect(memory.includes(Buffer.from(mark.subarray(0, 16)))).toBe(false)
    expect(memory.includes(Buffer.from(words.buffer))).toBe(false)
    expect(memory.subarray(REGION.schedule, REGION.lengths).every((byte) => byte === 0)).toBe(true)
    expect(memory.subarray(REGION.hashTables, REGION.prefix).every((byte) => byte === 0)).toBe(true)
  })

  it('empty lists return empty lists', () => {
    const ring = ringOf(1)
    const none = toSlab([])
    expect(ring.seal('records', HEADER, none, new Uint8Array(0)).count).toBe(0)
    expect(ring.open('records', 3, new Uint16Array(0), none, new Uint8Array(0)).plaintexts.count).toBe(0)
    expect(ring.digest(1, 'a', none).length).toBe(0)
    expect(ring.encryptPointers(1, new Uint32Array(0))).toEqual([])
    expect(ring.decryptPointers(1, []).words.length).toBe(0)
  })

  it('associated data or versions of another count throw, and nothing is sealed', () => {
    const ring = ringOf(1)
    expect(() => ring.seal('records', HEADER, toSlab([new Uint8Array(1)]), new Uint8Array(31))).toThrow(VaultError)
    const body = ring.seal('records', HEADER, toSlab([new Uint8Array(1)]), new Uint8Array(32))
    expect(() => ring.open('records', 3, new Uint16Array(0), body, new Uint8Array(32))).toThrow(/version/)
    expect(() => ring.open('records', 3, versionsOf(1, 1), body, new Uint8Array(64))).toThrow(/associated data/)
  })

  it('invalid root keys are rejected with an error that contains no key', () => {
    const key = new Uint8Array(32).fill(0xab)
    const wrong = [
      [],
      [{ version: 0, key }],
      [{ version: 65_536, key }],
      [{ version: 1.5, key }],
      [{ version: 1, key: key.subarray(1) }],
      [
        { version: 1, key },
        { version: 1, key },
      ],
    ]
    for (const list of wrong) {
      const make = (): KeyRing => keyRingFactory.createRing('vault', list)
      expect(make).toThrow(VaultError)
      expect(make).not.toThrow(/abab|171/)
    }
  })
})
