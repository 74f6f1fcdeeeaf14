/** Key bytes in memory: none in Node's pool of small buffers, none in the module after a call, none reachable after a ring is closed. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { deriveKey } from '../../../src/adapters/keys/key-bytes.ts'
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { createModuleXaesKey } from '../../../src/adapters/keys/wasm/derived-keys.ts'
import { expandKey, getWasm, HASH_TABLE_BYTES, MODULE_BLOCKS, REGION } from '../../../src/adapters/keys/wasm/wasm.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { isVaultError } from '../../../src/core/errors.ts'
import type { KeyProvider, KeyRing, Rank } from '../../../src/core/ports/crypto.ts'
import { slabItem, toSlab } from '../../../src/core/util/memory.ts'
import { column, createVault, defineSchema } from '../../../src/index.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'
import { IMPLEMENTATIONS } from './implementations.ts'
import { seededBytes } from './seeded-bytes.ts'

const SEED = 'key memory 1'
const HEADER = Uint8Array.from([1, 0, 1])
const RANK = { value: 123_456n, domain: 10n ** 16n }
const random = seededBytes(SEED)
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-memory-'))
})

afterAll(() => rm(folder, { recursive: true }))

/** Bytes in memory of their own: what the test knows must not itself get into the pool. */
function outside(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes)
}

/** The same bytes as a Buffer, without a copy. */
function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Runs work with one large pool, and returns the bytes of the pool. */
async function poolAfter(work: () => Promise<void>): Promise<Buffer> {
  const size = Buffer.poolSize
  Buffer.poolSize = 1 << 22
  let slab = Buffer.allocUnsafe(8).buffer
  // The current pool is used up first; the next has the new size.
  for (let i = 0; i < 100 && slab.byteLength !== Buffer.poolSize; i++) slab = Buffer.allocUnsafe(size >> 2).buffer
  expect(slab.byteLength).toBe(1 << 22)
  try {
    await work()
    expect(Buffer.allocUnsafe(8).buffer).toBe(slab)
  } finally {
    Buffer.poolSize = size
  }
  return Buffer.from(slab)
}

/** All keyed work of a ring, with short and long lists. */
function useRing(ring: KeyRing): void {
  for (const [count, length] of [
    [1, 20],
    [1, 400],
    [40, 60],
    [1, 5000],
  ] as const) {
    const associatedData = new Uint8Array(count * 32)
    const plaintexts = toSlab(Array.from({ length: count }, (_, i) => new Uint8Array(length).fill(i)))
    const bodies = ring.seal('record', HEADER, plaintexts, associatedData)
    const opened = ring.open('record', 3, new Uint16Array(count).fill(ring.activeVersion), bodies, associatedData)
    expect(opened.opened.every((flag) => flag === 1)).toBe(true)
    ring.digest(1, 'scope', plaintexts)
    ring.decryptPointers(1, ring.encryptPointers(1, new Uint32Array(count * 4).fill(5)))
    ring.decryptRanks(1, 'scope', toRanks(ring, count, RANK))
  }
}

/** Returns a number encrypted `count` times, for decryption. */
function toRanks(ring: KeyRing, count: number, rank: Rank): Rank[] {
  return ring.encryptRanks(1, 'scope', new Array(count).fill(rank)).map((value) => ({ ...rank, value }))
}

/** Every key of a vault with this root key, and its round keys, in pieces of 16 bytes. */
function keyPieces(root: Uint8Array, vaultId: string): Uint8Array[] {
  const seal = deriveKey(root, vaultId, { kind: 'seal', version: 1, purpose: 'record' })
  const derived = createModuleXaesKey(seal).derive(new Uint8Array(12), 0)
  const keys = [
    root,
    seal,
    derived.secret,
    deriveKey(root, vaultId, { kind: 'digest', scope: 'scope' }),
    deriveKey(root, vaultId, { kind: 'rank', scope: 'scope' }),
    deriveKey(root, vaultId, { kind: 'pointer' }),
  ]
  return keys.flatMap((key) => piecesOf(key)).concat(keys.flatMap((key) => piecesOf(expandKey(key))))
}

function piecesOf(bytes: Uint8Array): Uint8Array[] {
  return Array.from({ length: bytes.length / 16 }, (_, i) => outside(bytes.subarray(i * 16, i * 16 + 16)))
}

/** The keys of a provider, and every root key that passes through it. */
function watched(keys: KeyProvider): { readonly keys: KeyProvider; readonly roots: Uint8Array[] } {
  const roots: Uint8Array[] = []
  return {
    roots,
    keys: {
      wrap: (key, associatedData) => {
        roots.push(outside(key))
        return keys.wrap(key, associatedData)
      },
      unwrap: (wrapped, associatedData) => keys.unwrap(wrapped, associatedData),
    },
  }
}

const schema = defineSchema({
  cards: {
    number: column.string({ token: 'deterministic', unique: true }),
    holder: column.string({ token: 'random' }),
    pin: column.string({ token: { kind: 'deterministicFormatPreserving', format: 'digits' } }),
  },
})

it.each(IMPLEMENTATIONS)(
  'no key is in the pool of small buffers after a vault was opened from key text and from a key file, and used: $name',
  async ({ factory, cryptography }) => {
    const kek = random.bytes(32)
    const text = bufferOf(kek).toString('base64')
    const file = join(folder, 'vault.key')
    const pieces: Uint8Array[] = piecesOf(kek)
    const pool = await poolAfter(async () => {
      for (const given of [{ key: text }, { file }]) {
        const { keys, roots } = watched(localKeys(given))
        const vault = await createVault({ id: 'v1', schema, storage: memoryStorage(), keys, cryptography })
        const session = vault.as(OWNER)
        const fields = { number: '4111111111111111', holder: 'A', pin: '12345678' }
        const { records } = await session.insert('cards', [{ fields }], { tokenization: true })
        const { holder, pin } = records[0]?.tokens ?? {}
        await session.detokenize([{ token: holder ?? '' }, { token: pin ?? '' }])
        for (const root of roots) pieces.push(...keyPieces(root, 'v1'))
      }
      const root = random.bytes(32)
      const ring = factory.createRing('v1', [{ version: 1, key: root }])
      useRing(ring)
      pieces.push(...keyPieces(root, 'v1'))
    })
    expect(pieces.length).toBeGreaterThan(300)
    expect(pieces.filter((piece) => pool.includes(bufferOf(piece))).length).toBe(0)
    // The text of the new key is not there either, as UTF-8 or latin1.
    expect(pool.includes('strongroom key, version 1\n')).toBe(false)
  },
)

it('the test finds a key that is in the pool', async () => {
  const key = random.bytes(32)
  const pool = await poolAfter(async () => void Buffer.from(key))
  expect(piecesOf(key).every((piece) => pool.includes(bufferOf(piece)))).toBe(true)
})

it('the module holds nothing secret after short and long lists of every kind', () => {
  const ring = keyRingFactory.createRing('v1', [{ version: 1, key: random.bytes(32) }])
  const { calls, memory } = getWasm()
  calls.wipe(REGION.hashTables, memory.length - REGION.hashTables)
  const words = Uint32Array.from({ length: 100 * 4 }, (_, i) => 0x1234_0000 + i)
  const inputs = Array.from({ length: 100 }, () => random.bytes(100))
  // On both sides of what the module encrypts by itself. Long numbers have a stream of more than one block.
  for (const count of [1, MODULE_BLOCKS, MODULE_BLOCKS + 1, 100]) {
    const uuids = ring.encryptPointers(1, words.subarray(0, 4 * count))
    const uses: readonly (readonly [string, () => unknown])[] = [
      ['pointers encrypted', () => ring.encryptPointers(1, words.subarray(0, 4 * count))],
      ['pointers decrypted', () => ring.decryptPointers(1, uuids)],
      ['long digests', () => ring.digest(1, 'scope', toSlab(inputs.slice(0, count)))],
      ['short digests', () => ring.digest(1, 'scope', toSlab(inputs.slice(0, count).map((input) => input.subarray(0, 9))))],
      ['ranks', () => toRanks(ring, count, RANK)],
      ['ranks decrypted', () => ring.decryptRanks(1, 'scope', new Array(count).fill(RANK))],
      ['long ranks', () => toRanks(ring, count, { value: 5n, domain: 10n ** 60n })],
    ]
    for (const [use, call] of uses) {
      call()
      for (const [name, start, end] of [
        ['the tables of the hash key to the subkeys', REGION.hashTables, REGION.running],
        ['the round keys', REGION.schedule, REGION.lengths],
        ['input, blocks and output', REGION.input, memory.length],
      ] as const) {
        expect(
          memory.subarray(start, end).some((byte) => byte !== 0),
          `${count} ${use}: ${name}`,
        ).toBe(false)
      }
    }
  }
})

it('the module holds no hash key, nor its tables, after a key was derived and bodies were sealed and opened', () => {
  const ring = keyRingFactory.createRing('v1', [{ version: 1, key: random.bytes(32) }])
  const { calls, memory } = getWasm()
  const placed = (): Buffer => Buffer.from(memory.subarray(0, REGION.hashTables))
  const constants = placed()
  const tables = (): Buffer => memory.subarray(REGION.hashTables, REGION.hashTables + HASH_TABLE_BYTES)
  memory.set(random.bytes(16), REGION.input)
  calls.fillHashTables(REGION.input, REGION.hashTables)
  // The control: the tables fill their region.
  expect(
    tables()
      .subarray(-64)
      .some((byte) => byte !== 0),
  ).toBe(true)
  calls.wipe(REGION.input, 16)
  calls.wipe(REGION.hashTables, HASH_TABLE_BYTES)
  for (const count of [1, 2, 100]) {
    const associatedData = random.bytes(count * 32)
    const bodies = ring.seal('record', HEADER, toSlab(Array.from({ length: count }, () => random.bytes(100))), associatedData)
    ring.open('record', HEADER.length, new Uint16Array(count).fill(1), bodies, associatedData)
    expect(placed().equals(constants), `${count} bodies`).toBe(true)
    expect(
      tables().every((byte) => byte === 0),
      `${count} bodies`,
    ).toBe(true)
    expect(
      memory.subarray(REGION.blocks, REGION.output).every((byte) => byte === 0),
      `${count} bodies`,
    ).toBe(true)
  }
})

it.each(IMPLEMENTATIONS)('a closed ring has wiped its keys and the module, and every method throws: $name', ({ factory }) => {
  const ring = factory.createRing('v1', [{ version: 1, key: random.bytes(32) }])
  useRing(ring)
  const plaintexts = toSlab([new Uint8Array(5)])
  const bodies = ring.seal('record', HEADER, plaintexts, new Uint8Array(32))
  const [uuid] = ring.encryptPointers(1, new Uint32Array(4))
  const calls: (() => unknown)[] = [
    () => ring.seal('record', HEADER, plaintexts, new Uint8Array(32)),
    () => ring.open('record', 3, Uint16Array.of(1), bodies, new Uint8Array(32)),
    () => ring.open('record', 3, Uint16Array.of(1, 1), toSlab([slabItem(bodies, 0), slabItem(bodies, 0)]), new Uint8Array(64)),
    () => ring.digest(1, 'scope', plaintexts),
    () => ring.digest(1, 'other scope', plaintexts),
    () => ring.encryptPointers(1, new Uint32Array(4)),
    () => ring.decryptPointers(1, [uuid ?? '']),
    () => ring.encryptRanks(1, 'scope', [RANK]),
    () => ring.decryptRanks(1, 'other scope', [RANK]),
  ]
  for (const call of calls) call()
  ring.close()
  ring.close()
  for (const call of calls) expect(codeOf(call)).toBe('failed_precondition')
  expect(
    getWasm()
      .memory.subarray(REGION.hashTables)
      .some((byte) => byte !== 0),
  ).toBe(false)
})

it.each(IMPLEMENTATIONS)('closing a ring leaves others as they were: $name', ({ factory }) => {
  const key = random.bytes(32)
  const [one, two] = [1, 2].map(() => factory.createRing('v1', [{ version: 1, key }]))
  const before = two?.digest(1, 'scope', toSlab([key]))
  one?.close()
  expect(two?.digest(1, 'scope', toSlab([key]))).toEqual(before)
})

function codeOf(call: () => unknown): string | undefined {
  try {
    call()
  } catch (error) {
    return isVaultError(error) ? error.code : String(error)
  }
  return undefined
}
