/** Audit trails to verify and to tamper with: a few chains with events of every kind, and their export. */
import { generateKeyPairSync } from 'node:crypto'
import { localSigner } from '../../../src/adapters/keys/local-signer.ts'
import { systemHash } from '../../../src/adapters/system/system.ts'
import { type ChainedRow, type ChainHead, chainEvents } from '../../../src/core/audit/chain.ts'
import { type TreeHead, treeHeadOf } from '../../../src/core/audit/chain-verifier.ts'
import { checkpointBytes, createCheckpoint, type SignedCheckpoint, signedCheckpoint } from '../../../src/core/audit/checkpoint.ts'
import type { ChainedEvent, EventDraft } from '../../../src/core/audit/event.ts'
import { checkpointLine, endLine, eventLine, headerLine, headLine } from '../../../src/core/audit/export-lines.ts'
import { writeLeaf } from '../../../src/core/audit/read-event.ts'
import { writeEvent } from '../../../src/core/audit/write-event.ts'
import type { RootKeySet, Signer } from '../../../src/core/ports/crypto.ts'
import { ByteWriter } from '../../../src/core/util/bytes.ts'
import { toNanoseconds } from '../../../src/core/util/time.ts'

/** Start of the trails below, in nanoseconds since 1970. */
export const START = 1_800_000_000_000_000_000n

/** The event of a successful insert. */
export const DRAFT: EventDraft = {
  context: {
    requestID: 'f0c9a1f2-6a53-4d0f-9f3a-0d8a0f6c1b11',
    traceID: '4bf92f3577b34da6a3ce929d0e0e4736',
    actor: 'ann@acme.example',
    actorType: 'USER',
    accessType: 'API',
    ipAddress: '192.0.2.7',
    authMode: 'STS',
    jwtID: '',
  },
  action: 'INSERT',
  resourceType: 'RECORD',
  table: 'people',
  rows: [{ table: 'people', runs: [[1, 1000]] }],
  code: 200,
  message: '',
  content: '{"records":[{"fields":{"name":"*REDACTED*"},"times":1000}]}',
}

/** An event with every member, and characters of every width. */
export const FULL_DRAFT: EventDraft = {
  context: {
    ...DRAFT.context,
    sessionID: 's',
    origin: 'https://acme.example',
    bearerTokenContextID: 'b',
    keyID: 'k',
    subject: 'bo@acme.example',
    clientTraceID: 'né "quoted" \\ 日本 😀 \u0000 \ud800',
    userEmail: 'cy@acme.example',
  },
  action: 'BATCH',
  resourceType: 'VAULT',
  table: 'people',
  rows: [{ table: 'people', runs: [[1, 2], [9, 1]] }], // biome-ignore format: runs read best side by side
  credential: 'key 1',
  code: 200,
  message: '',
  content: '{}',
  nested: [
    { code: 200, message: '', resourceType: 'RECORD', rows: { table: 'people', runs: [[1, 1]] }, content: '{}' },
    { code: 404, message: 'Get failed.', resourceType: 'RECORD' },
  ],
}

/** The event of a failure without table, records or context. */
export const FAILED_DRAFT: EventDraft = {
  context: DRAFT.context,
  action: 'QUERY',
  resourceType: 'VAULT',
  code: 400,
  message: 'Query failed.',
}

const DRAFTS = [DRAFT, FULL_DRAFT, FAILED_DRAFT]

/** Change ids that contain the position of their event. */
export function changeIDsOf(rows: readonly number[]): string[] {
  return rows.map((row) => `change-${row}`)
}

/** An event as a row, with its bytes. */
export interface WrittenRow extends Omit<ChainedRow, 'end'> {
  readonly bytes: Uint8Array
}

/** A trail as storage holds it, unsealed. */
export interface Trail {
  readonly rows: readonly WrittenRow[]
  readonly heads: readonly ChainHead[]
}

/** The root keys of a vault after a rotation. */
export const SAMPLE_KEYS: RootKeySet = {
  generation: 3,
  lookupVersion: 1,
  roots: [
    { version: 1, state: 'retired' },
    { version: 2, state: 'active' },
  ],
}

/** Appends lists of events to one chain, from a start time. Each row has the bytes of its event, as a view of what was written. */
export function writeChain(
  chain: number,
  drafts: readonly EventDraft[],
  { now = START, head, out = new ByteWriter() }: { now?: bigint; head?: ChainHead; out?: ByteWriter } = {},
) {
  let start = out.length
  const chained = chainEvents(drafts, {
    out,
    leaf: new ByteWriter(),
    chain,
    head,
    vaultID: 'v1',
    accountID: 'acme',
    now,
    hash: systemHash,
    keys: SAMPLE_KEYS,
    changeIDsOf,
  })
  const rows = chained.rows.map(({ id, at, end }) => {
    const bytes = out.bytes.subarray(start, end)
    start = end
    return { id, at, bytes }
  })
  return { rows, head: chained.head }
}

/** A trail with chains of these lengths. */
export function writeTrail(lengths: readonly number[]): Trail {
  const chains = lengths.map((length, index) =>
    writeChain(
      index + 1,
      Array.from({ length }, (_, place) => ({ ...(DRAFTS[place % DRAFTS.length] ?? DRAFT), message: `${index}/${place}` })),
    ),
  )
  return { rows: chains.flatMap(({ rows }) => rows), heads: chains.map(({ head }) => head) }
}

/** The tree heads of a trail. */
export function treeHeadsOf({ heads }: Trail): TreeHead[] {
  return heads.map((head) => treeHeadOf(systemHash, head))
}

/** A key to sign with, and to check with. */
export const SIGNING = createSigning('audit-2026')

/** A new key pair under this name. */
export function createSigning(
  keyId: string,
  type: 'ed25519' | 'ml-dsa-65' = 'ed25519',
): { signer: Signer; keys: { keyId: string; publicKey: string }[] } {
  const { privateKey, publicKey } = type === 'ed25519' ? generateKeyPairSync(type) : generateKeyPairSync(type)
  const signer = localSigner({ keyId, privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() })
  return { signer, keys: [{ keyId, publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString() }] }
}

/** A signed checkpoint of these tree heads. */
export async function signCheckpoint(
  treeHeads: readonly TreeHead[],
  now: bigint,
  { signer } = SIGNING,
): Promise<SignedCheckpoint> {
  const checkpoint = createCheckpoint(treeHeads, { vaultID: 'v1', accountID: 'acme', now, hash: systemHash, keys: SAMPLE_KEYS })
  return signedCheckpoint(checkpoint, signer, await signer.sign(checkpointBytes(checkpoint)))
}

/** The bytes as which an event is stored. */
export function bytesOf(event: ChainedEvent): Uint8Array {
  const out = new ByteWriter()
  writeEvent(new ByteWriter(), out, { ...event, at: toNanoseconds(event.timestamp) })
  return out.written().slice()
}

/** The canonical text of an event that is stored as these bytes. */
export function textOf(bytes: Uint8Array): Uint8Array {
  return leafOf(bytes).written().slice(1)
}

/** The line of an event that is stored as these bytes. */
export function storedLine(bytes: Uint8Array): string {
  return eventLine(systemHash, leafOf(bytes))
}

function leafOf(bytes: Uint8Array): ByteWriter {
  const leaf = new ByteWriter()
  writeLeaf(leaf, bytes)
  return leaf
}

/** The lines of the trail's export. */
export function exportLines(trail: Trail, checkpoints: readonly SignedCheckpoint[] = []): string[] {
  return [
    headerLine('v1'),
    ...treeHeadsOf(trail).map(headLine),
    ...checkpoints.map(checkpointLine),
    ...trail.rows.map(({ bytes }) => storedLine(bytes)),
    endLine({ heads: trail.heads.length, checkpoints: checkpoints.length, events: trail.rows.length }),
  ]
}
