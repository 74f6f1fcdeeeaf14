/** The negative control of the conformance suites of blob stores and key providers: each fault fails a case, and each case fails for a fault. */
import { describe, expect, it } from 'vitest'
import { type BlobsUnderTest, blobCases } from '../../src/conformance/blobs/index.ts'
import { keyProviderCases } from '../../src/conformance/keys/index.ts'
import { brokenBlobs, type FaultName } from '../support/blobs/broken-blobs.ts'
import { memoryBlobs, memoryPlace, storedAt } from '../support/blobs/memory-blobs.ts'
import { runBlobCases } from '../support/blobs/run-blob-cases.ts'
import { FAULTS, type FaultName as KeyFaultName, memoryKeys } from '../support/keys/memory-keys.ts'
import { runKeyCases } from '../support/keys/run-key-cases.ts'

/** A place in memory, and handles on it. */
function inMemory(open: typeof memoryBlobs): BlobsUnderTest {
  let place = memoryPlace()
  return {
    async open() {
      place = memoryPlace()
      return open(place)
    },
    reopen: async () => open(place),
    stored: async (key) => storedAt(place, key),
  }
}

/** Cases that must detect each fault. */
const DETECTED_BY: Record<FaultName, readonly string[]> = {
  'a blob loses its last byte': ['W1', 'R6'],
  'a write of no bytes stores nothing': ['W2'],
  'an empty chunk ends the content': ['W5'],
  'an empty chunk is a byte': ['W5'],
  'chunks are stored longest first': ['W4'],
  'a blob is seen while it is written': ['W6'],
  'a write resolves before it is stored': ['W3', 'F4'],
  'a handle has blobs of its own': ['W7', 'C1', 'Z3'],
  'a range ends one byte late': ['R1', 'R5'],
  'a range begins at a multiple of 64 KiB': ['R2', 'R4', 'S3'],
  'a range over the end fails': ['R2'],
  'a range after the end fails': ['R3'],
  'an empty range is the whole blob': ['R4'],
  'an empty range of no blob is no error': ['K1'],
  'a read gives one chunk': ['R7'],
  'a read gives empty chunks': ['R7'],
  'a range is not checked': ['R8'],
  'chunks are Buffers': ['B1'],
  'chunks share their memory': ['B2'],
  'chunks are the stored memory': ['B3'],
  'content is kept without a copy': ['B4', 'B6'],
  'chunks are kept for the next read': ['B3', 'B7'],
  'the whole buffer of a view is stored': ['B5'],
  'content that throws leaves its first bytes': ['F1', 'F2'],
  'an error of content is wrapped': ['F1', 'F3'],
  'an error of content that has a code is mapped': ['F3'],
  'a write that fails removes all blobs': ['F4'],
  'nothing is deleted': ['D1', 'D3', 'D6'],
  'a key without a blob cannot be deleted': ['D2'],
  'only the first of many is deleted': ['D3'],
  'keys of the same beginning are one': ['D4'],
  'unfinished writes are not deleted': ['D5'],
  'unfinished writes are kept in memory': ['D5', 'S1'],
  'a write goes on after a deletion, without what was deleted': ['D6'],
  'a read ends early when the blob is deleted': ['D7'],
  'writes at the same time share a buffer': ['C1'],
  'readers at the same time share a position': ['C2'],
  'a write keeps reads away': ['C3'],
  'content is asked for many chunks at once': ['S2'],
  'content is begun twice': ['S2'],
  'a reader that stops early blocks its blob': ['S3'],
  'a read begins before its first chunk is asked for': ['S4'],
  'a key without a blob is empty': ['K1'],
  'keys are not checked': ['K2', 'K3'],
  'keys are checked one by one': ['K3'],
  'closing does nothing': ['Z1', 'Z4'],
  'closing again fails': ['Z2'],
  'closing removes the blobs': ['Z3'],
}

/** Cases that must detect each fault of a key provider. */
const KEY_FAULT_DETECTED_BY: Record<KeyFaultName, readonly string[]> = {
  'a provider unwraps what it wrapped itself alone': ['W1', 'R1', 'R4'],
  'zeros at the end of a key are lost': ['W2'],
  'the key is beside its wrapped bytes': ['W3'],
  'the memory of a key is kept': ['B1'],
  'callers at the same time share an array': ['B2', 'M1'],
  'associated data is not authenticated': ['A1', 'R4', 'R5'],
  'the end of associated data is not authenticated': ['A1'],
  'bytes after the end are ignored': ['A2'],
  'the name of the key is ignored': ['A3'],
  'a mismatch is an unknown error': ['A1', 'A2', 'A3', 'R4', 'R5'],
  'each unwrap is a call of its own': ['M2', 'O10'],
  'an unwrapped key is kept': ['M2'],
  'unwraps at the same time are one call, whatever they unwrap': ['M3'],
  'a rotated key does not unwrap': ['R1', 'R4'],
  'the current key has another name': ['R2', 'R3'],
  'the name of the key stays at a rotation': ['R3'],
  'bytes stay as they are when they are wrapped again': ['R4', 'R5'],
  'a disabled key goes on': ['D1'],
  'a withdrawn key is unavailable': ['D2', 'D3'],
  'a refusal is tried again': ['D3'],
  'a throttled call is refused': ['O1', 'O6', 'O10'],
  'a fault of the service is an unknown error': ['O2', 'O7'],
  'the end of a connection is an unknown error': ['O4', 'O9'],
  'a service that hangs is waited for': ['O3'],
  'a slow service is given up': ['O5'],
  'what failed once is not tried again': ['O1', 'O2', 'O3', 'O4', 'O6', 'O7', 'O8', 'O9'],
}

/** Runs these cases on a store with a fault, and returns those that fail. */
async function redCases(fault: FaultName, ids: readonly string[]): Promise<readonly string[]> {
  const red: string[] = []
  for (const { id, run } of blobCases)
    if (ids.includes(id)) await run(inMemory((place) => brokenBlobs(fault, place))).catch(() => red.push(id))
  return red
}

runBlobCases('memory', () => inMemory(memoryBlobs))

describe('the conformance suite of blob stores', () => {
  it('has cases with a unique id at the start of the name', () => {
    expect(blobCases.length).toBeGreaterThanOrEqual(40)
    expect(new Set(blobCases.map(({ id }) => id)).size).toBe(blobCases.length)
    for (const { id, name } of blobCases) {
      expect(id).toMatch(/^[A-Z]\d+$/)
      expect(name.startsWith(`${id} `)).toBe(true)
    }
  })

  it('has no case that no fault fails', () => {
    const detecting = new Set(Object.values(DETECTED_BY).flat())
    expect(blobCases.map(({ id }) => id).filter((id) => !detecting.has(id))).toEqual([])
  })

  // Object.entries forgets that its keys are the record's.
  for (const [fault, cases] of Object.entries(DETECTED_BY) as [FaultName, readonly string[]][]) {
    it(`detects that ${fault}`, async () => {
      expect((await redCases(fault, cases)).toSorted()).toEqual(cases.toSorted())
    })
  }
})

runKeyCases('memory', () => memoryKeys())

describe('the conformance suite of key providers', () => {
  it('has cases with a unique id at the start of the name', () => {
    expect(new Set(keyProviderCases.map(({ id }) => id)).size).toBe(keyProviderCases.length)
    for (const { id, name } of keyProviderCases) expect(name.startsWith(`${id} `)).toBe(true)
  })

  it('has no case that no fault fails', () => {
    const detecting = new Set(Object.values(KEY_FAULT_DETECTED_BY).flat())
    expect(keyProviderCases.map(({ id }) => id).filter((id) => !detecting.has(id))).toEqual([])
  })

  it('does not run a case without the control that it needs', async () => {
    const { fail: _, ...keys } = memoryKeys()
    for (const { needs, run } of keyProviderCases)
      if (needs.includes('fail')) await expect(run(keys)).rejects.toThrow('needs `fail`')
  })

  for (const [fault, cases] of Object.entries(KEY_FAULT_DETECTED_BY) as [KeyFaultName, readonly string[]][]) {
    it(`detects that ${fault}`, async () => {
      const red: string[] = []
      for (const { id, run } of keyProviderCases)
        if (cases.includes(id)) await run(memoryKeys(FAULTS[fault])).catch(() => red.push(id))
      expect(red.toSorted()).toEqual(cases.toSorted())
    })
  }
})
