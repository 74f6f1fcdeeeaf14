/** Calls the batched AES-GCM: whole lists under one key, with IVs and associated data of the test. */

import { createGcmKey } from '../../../src/adapters/keys/wasm/derived-keys.ts'
import { openBatch, sealBatch } from '../../../src/adapters/keys/wasm/gcm.ts'
import { toSlab } from '../../../src/core/util/memory.ts'

/** One message with all inputs of its sealing. All messages of a list have associated data of one length. */
export interface GcmCase {
  readonly iv: Uint8Array
  readonly context: Uint8Array
  readonly message: Uint8Array
}

/** The bytes before each IV in the bodies of these tests. */
const PREFIX = Uint8Array.from([7, 7, 7])
const OVERHEAD = PREFIX.length + 12 + 16

/** `ciphertext | tag` of each, computed by the module. */
export function sealCases(secret: Uint8Array, cases: readonly GcmCase[]): Uint8Array[] {
  const plaintexts = toSlab(cases.map((one) => one.message))
  const startOf = (item: number): number => (item === 0 ? 0 : (plaintexts.ends[item - 1] ?? 0)) + item * OVERHEAD
  const out = new Uint8Array(startOf(cases.length))
  let drawn = 0
  const drawIvs = (target: Uint8Array, at: number, count: number): void => {
    for (let offset = 0; offset < count; offset += 12) target.set(cases[drawn++]?.iv ?? [], at + offset)
  }
  const aadBytes = cases[0]?.context.length ?? 0
  const associatedData = padContexts(cases, aadBytes)
  sealBatch(
    createGcmKey(secret),
    { plaintexts, associatedData, aadBytes, prefix: PREFIX, drawIvs, startOf, out },
    0,
    cases.length,
  )
  return cases.map((one, i) => {
    const body = out.subarray(startOf(i), startOf(i + 1))
    const expected = Buffer.concat([PREFIX, one.iv])
    if (!expected.equals(body.subarray(0, expected.length))) throw new Error(`body ${i} does not begin with prefix and IV`)
    return body.subarray(expected.length)
  })
}

/** The messages of each `ciphertext | tag`; undefined if authentication failed. */
export function openCases(
  secret: Uint8Array,
  cases: readonly GcmCase[],
  sealed: readonly Uint8Array[],
): (Uint8Array | undefined)[] {
  const bodies = toSlab(cases.map((one, i) => Buffer.concat([PREFIX, one.iv, sealed[i] ?? new Uint8Array(16)])))
  const starts = new Uint32Array(cases.length + 1)
  for (let i = 0; i < cases.length; i++) starts[i + 1] = (starts[i] ?? 0) + (sealed[i]?.length ?? 16) - 16
  const out = new Uint8Array(starts[cases.length] ?? 0)
  const opened = new Uint8Array(cases.length)
  const aadBytes = cases[0]?.context.length ?? 0
  const batch = {
    bodies,
    associatedData: padContexts(cases, aadBytes),
    aadBytes,
    prefixBytes: PREFIX.length,
    starts,
    out,
    opened,
  }
  openBatch(createGcmKey(secret), batch, [...cases.keys()])
  return cases.map((_, i) => {
    const plaintext = out.subarray(starts[i], starts[i + 1])
    if (opened[i] === 1) return plaintext
    if (plaintext.some((byte) => byte !== 0)) throw new Error(`case ${i} was refused but left plaintext`)
    return undefined
  })
}

function padContexts(cases: readonly GcmCase[], aadBytes: number): Uint8Array {
  const stride = Math.ceil(aadBytes / 16) * 16
  const padded = new Uint8Array(stride * cases.length)
  for (const [i, one] of cases.entries()) padded.set(one.context, i * stride)
  return padded
}
