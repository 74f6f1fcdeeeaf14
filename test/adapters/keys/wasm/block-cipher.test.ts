/** AES-256 inside the module: the published example, and equality with the platform's own cipher. */
import { createCipheriv } from 'node:crypto'
import { expect, it } from 'vitest'
import { expandKey, getWasm, REGION, SCHEDULE_BYTES } from '../../../../src/adapters/keys/wasm/wasm.ts'
import { hex, toHex } from '../read-vectors.ts'
import { seededBytes } from '../seeded-bytes.ts'

const SEED = 'aes property 1'

/** Encrypts the blocks in place in the module. */
function encrypt(schedule: Uint8Array, blocks: Uint8Array): string {
  const { calls, memory } = getWasm()
  memory.set(schedule, REGION.schedule)
  memory.set(blocks, REGION.blocks)
  calls.encryptBlocks(REGION.schedule, REGION.blocks, blocks.length / 16)
  const out = toHex(memory.subarray(REGION.blocks, REGION.blocks + blocks.length))
  calls.wipe(REGION.schedule, schedule.length)
  calls.wipe(REGION.blocks, blocks.length)
  return out
}

function reference(key: Uint8Array, blocks: Uint8Array): string {
  return createCipheriv('aes-256-ecb', key, null).setAutoPadding(false).update(blocks, undefined, 'hex')
}

it('gives the AES-256 example of FIPS 197, appendix C.3', () => {
  const key = hex('000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f')
  const block = hex('00112233445566778899aabbccddeeff')
  expect(encrypt(expandKey(key), block)).toBe('8ea2b7ca516745bfeafc49904b496089')
})

it('equals the platform for 10,000 random blocks, each under its own key', () => {
  const random = seededBytes(SEED)
  for (let round = 0; round < 10_000; round++) {
    const key = random.bytes(32)
    const block = random.bytes(16)
    const sealed = encrypt(expandKey(key), block)
    if (sealed !== reference(key, block)) expect(sealed, `seed ${SEED}, round ${round}`).toBe(reference(key, block))
  }
})

it('equals the platform for runs of 0 to 40 blocks, and leaves the next block unchanged', () => {
  const random = seededBytes(SEED)
  const { memory } = getWasm()
  const key = random.bytes(32)
  const schedule = expandKey(key)
  for (let count = 0; count <= 40; count++) {
    const blocks = random.bytes(16 * count)
    const behind = REGION.blocks + blocks.length
    memory.fill(0xa5, behind, behind + 16)
    expect(encrypt(schedule, blocks), `${count} blocks`).toBe(reference(key, blocks))
    expect(memory.subarray(behind, behind + 16).every((byte) => byte === 0xa5)).toBe(true)
    memory.fill(0, behind, behind + 16)
  }
})

it('equals the platform for blocks and keys of one repeated byte, which cover every S-box input', () => {
  for (let byte = 0; byte < 256; byte++) {
    const key = new Uint8Array(32).fill(byte)
    const blocks = new Uint8Array(16 * 256).map((_, i) => i >> 4)
    expect(encrypt(expandKey(key), blocks), `byte ${byte}`).toBe(reference(key, blocks))
  }
})

it('schedules of many keys can be used in any order', () => {
  const random = seededBytes(SEED)
  const keys = Array.from({ length: 20 }, () => random.bytes(32))
  const schedules = keys.map(expandKey)
  for (let round = 0; round < 200; round++) {
    const at = random.below(keys.length)
    const block = random.bytes(16)
    expect(encrypt(schedules[at] ?? new Uint8Array(), block)).toBe(reference(keys[at] ?? new Uint8Array(), block))
  }
})

it('expanding a key leaves neither the key nor the schedule in the memory of the module', () => {
  const key = seededBytes(SEED).bytes(32)
  const schedule = expandKey(key)
  const { memory } = getWasm()
  expect(schedule.length).toBe(SCHEDULE_BYTES)
  for (const secret of [key.subarray(0, 16), key.subarray(16), schedule.subarray(0, 16), schedule.subarray(224)]) {
    expect(memory.includes(Buffer.from(secret))).toBe(false)
  }
})
