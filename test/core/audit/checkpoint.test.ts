/** Checkpoints: the signed bytes, parsing, and the comparison of trails with them. */
import { createHash, createPublicKey, verify } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { systemHash } from '../../../src/adapters/system/system.ts'
import { ChainVerifier } from '../../../src/core/audit/chain-verifier.ts'
import {
  type Checkpoint,
  checkpointBytes,
  createCheckpoint,
  findDivergence,
  parseCheckpoint,
  positionsOf,
  signatureBytes,
} from '../../../src/core/audit/checkpoint.ts'
import {
  SAMPLE_KEYS,
  SIGNING,
  START,
  signCheckpoint,
  type Trail,
  treeHeadsOf,
  writeTrail,
} from '../../support/audit/sample-trails.ts'

const EARLY = writeTrail([2, 3])
/** The same trail later: the samples write the same events at the same positions. */
const LATER = writeTrail([4, 3, 2])
const SIGNED = await signCheckpoint(treeHeadsOf(EARLY), START)

function departure(checkpoint: Checkpoint, { rows }: Trail, heads = treeHeadsOf(LATER)) {
  const check = new ChainVerifier({
    hash: systemHash,
    vaultID: 'v1',
    heads,
    watchedPositions: positionsOf([{ ...SIGNED, checkpoint }]),
  })
  for (const { id, bytes, at } of rows) check.add(id, bytes, at)
  return findDivergence(checkpoint, systemHash, (chain, sequence) => check.treeHeadAt(chain, sequence))
}

describe('a checkpoint', () => {
  it('counts all events and lists chains in rising order, for heads in any order', () => {
    const { checkpoint } = SIGNED
    expect(checkpoint).toMatchObject({
      v: 1,
      vaultID: 'v1',
      accountID: 'acme',
      events: 5,
      timestamp: '2027-01-15T08:00:00.000000000Z',
    })
    expect(checkpoint.chains.map(({ chain, sequence }) => [chain, sequence])).toEqual([
      [1, 2],
      [2, 3],
    ])
    const of = { vaultID: 'v1', accountID: 'acme', now: START, hash: systemHash, keys: SAMPLE_KEYS }
    expect(createCheckpoint(treeHeadsOf(EARLY).reverse(), of)).toEqual(checkpoint)
  })

  it('has the root of the tree over the roots of its chains', () => {
    const sha = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest()
    const [one, two] = treeHeadsOf(EARLY).map(({ root }) => sha(Uint8Array.of(0), Buffer.from(root, 'hex')))
    expect(SIGNED.checkpoint.root).toBe(sha(Uint8Array.of(1), one ?? Buffer.of(), two ?? Buffer.of()).toString('hex'))
  })

  it('has the root of the empty tree for a trail without events', () => {
    const empty = createCheckpoint([], { vaultID: 'v1', accountID: 'acme', now: START, hash: systemHash, keys: SAMPLE_KEYS })
    expect(empty.root).toBe(createHash('sha256').digest('hex'))
  })

  it('is signed with a prefix of its own, so that other signatures of the key are invalid', () => {
    const bytes = checkpointBytes(SIGNED.checkpoint)
    expect(Buffer.from(bytes).toString()).toMatch(
      /^strongroom\/checkpoint\/v1\n\{"accountID":"acme","chains":\[\{"chain":1,"digest":"/,
    )
    const key = createPublicKey(SIGNING.keys[0]?.publicKey ?? '')
    expect(verify(null, bytes, key, signatureBytes(SIGNED) ?? Buffer.of())).toBe(true)
  })

  it('is parsed from its JSON text, and other data is rejected', () => {
    expect(parseCheckpoint(JSON.parse(JSON.stringify(SIGNED)))).toEqual(SIGNED)
    const { checkpoint } = SIGNED
    const broken = [
      null,
      checkpoint,
      { ...SIGNED, more: 1 },
      { ...SIGNED, keyId: '' },
      { ...SIGNED, signature: 'x' },
      { ...SIGNED, algorithm: 'RSA' },
      { ...SIGNED, algorithm: undefined },
      { ...SIGNED, checkpoint: { ...checkpoint, v: 2 } },
      { ...SIGNED, checkpoint: { ...checkpoint, events: 4 } },
      { ...SIGNED, checkpoint: { ...checkpoint, chains: [...checkpoint.chains].reverse() } },
      { ...SIGNED, checkpoint: { ...checkpoint, chains: [] } },
    ]
    expect(broken.map(parseCheckpoint)).toEqual(broken.map(() => undefined))
  })
})

describe('findDivergence', () => {
  it('finds nothing in a trail that continues a checkpoint', () => {
    expect(departure(SIGNED.checkpoint, LATER)).toBeUndefined()
  })

  it('finds the position of a trail that was truncated before a checkpoint', () => {
    const cut = writeTrail([1, 3])
    expect(departure(SIGNED.checkpoint, cut, treeHeadsOf(cut))).toMatchObject({ chain: 1, sequence: 2 })
  })

  it('finds a chain that the trail does not have', () => {
    const cut = writeTrail([2])
    expect(departure(SIGNED.checkpoint, cut, treeHeadsOf(cut))).toMatchObject({ chain: 2, sequence: 3 })
  })

  it('finds another digest, and another root', () => {
    const { checkpoint } = SIGNED
    const chains = checkpoint.chains.map((chain) => ({ ...chain, digest: '00'.repeat(32) }))
    expect(departure({ ...checkpoint, chains }, LATER)).toMatchObject({ chain: 1, sequence: 2 })
    expect(departure({ ...checkpoint, root: '00'.repeat(32) }, LATER)?.reason).toContain('root')
  })
})
