/** Verification of the trail of a vault: while it grows, with checkpoints, and offline from its export. */
import { expect, it } from 'vitest'
import { verifyExport } from '../../../src/audit-verifier/index.ts'
import type { SignedCheckpoint } from '../../../src/index.ts'
import { openClients } from '../../support/audit/audited-clients.ts'
import { doOperations } from '../../support/audit/audited-work.ts'
import { createSigning } from '../../support/audit/sample-trails.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const { signer, keys } = createSigning('audit-2026')

async function linesOf(lines: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = []
  for await (const line of lines) found.push(line)
  return found
}

onEachStorage('an audit trail', (engine) => {
  it('of a new vault verifies, and so does its export', async () => {
    const vault = await openClients(engine.fresh().open())
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 0 })
    expect(await verifyExport(vault.exportAudit())).toEqual({ ok: true, eventCount: 0, checkpoints: 0 })
  })

  it('verifies at any time while other callers write, and so does every export', async () => {
    const vault = await openClients(engine.fresh().open())
    let isOver = false
    const working = doOperations(vault, { name: 'w', callers: 8, each: 12 }).then(() => {
      isOver = true
    })
    let looks = 0
    for (; !isOver || looks === 0; looks++) {
      expect(await vault.verifyAudit()).toMatchObject({ ok: true })
      expect(await verifyExport(vault.exportAudit())).toMatchObject({ ok: true })
      // For an empty trail in memory both end without a turn of the event loop.
      await SYSTEM_PORTS.scheduler.yield()
    }
    await working
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 8 * 12 })
  })

  it('matches every earlier checkpoint, in storage and in an export', async () => {
    const vault = await openClients(engine.fresh().open())
    const kept: SignedCheckpoint[] = []
    const sink = async (checkpoint: SignedCheckpoint): Promise<void> => void kept.push(checkpoint)
    for (const name of ['a', 'b', 'c']) {
      await doOperations(vault, { name, callers: 4, each: 3 })
      expect(await vault.checkpointAudit({ signer, sink })).toBe(kept.at(-1))
    }
    await doOperations(vault, { name: 'd', callers: 4, each: 3 })
    expect(kept.map(({ checkpoint }) => checkpoint.events)).toEqual([12, 24, 36])
    expect(await vault.verifyAudit({ checkpoints: kept })).toEqual({ ok: true, eventCount: 48 })
    const lines = await linesOf(vault.exportAudit({ checkpoints: kept.slice(0, 2) }))
    expect(await verifyExport(lines, { keys, checkpoints: kept })).toEqual({ ok: true, eventCount: 48, checkpoints: 5 })
  })

  it('fails verification if its export is truncated at any line; a missing last event needs a checkpoint', async () => {
    const vault = await openClients(engine.fresh().open())
    await doOperations(vault, { name: 'a', callers: 3, each: 4 })
    const checkpoint = await vault.checkpointAudit({ signer })
    const lines = await linesOf(vault.exportAudit())
    for (let cut = 0; cut < lines.length; cut++) {
      expect((await verifyExport(lines.toSpliced(cut, 1))).ok, `without line ${cut + 1}`).toBe(false)
      expect((await verifyExport(lines.slice(0, cut))).ok, `to line ${cut}`).toBe(false)
    }
    await doOperations(vault, { name: 'b', callers: 1, each: 1 })
    const later = await vault.checkpointAudit({ signer })
    // An earlier export is valid in itself; only a later checkpoint shows that events are missing.
    expect(await verifyExport(lines, { keys, checkpoints: [checkpoint] })).toMatchObject({ ok: true })
    expect(await verifyExport(lines, { keys, checkpoints: [later] })).toMatchObject({ ok: false })
  })

  it('contains no value, and does not verify as the trail of another vault', async () => {
    const vault = await openClients(engine.fresh().open())
    await vault.as(OWNER).insert('clients', [{ fields: { name: 'Quetzalcoatl', salary: 918_273_645 } }])
    const lines = await linesOf(vault.exportAudit())
    expect(lines.join('\n')).not.toMatch(/quetzalcoatl|918273645/i)
    const other = await openClients(engine.fresh().open(), { id: 'v2' })
    await other.as(OWNER).get('clients')
    const foreign = await other.checkpointAudit({ signer })
    expect(await verifyExport(lines, { keys, checkpoints: [foreign] })).toMatchObject({ ok: false })
    await expect(vault.verifyAudit({ checkpoints: [foreign] })).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('can be verified, exported and checkpointed without a grant and without an event', async () => {
    const vault = await openClients(engine.fresh().open())
    await vault.as(OWNER).get('clients')
    await vault.checkpointAudit({ signer })
    await linesOf(vault.exportAudit())
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 1 })
  })

  it('rejects a checkpoint if the callback that stores it fails', async () => {
    const vault = await openClients(engine.fresh().open())
    const full = new Error('the bucket is full')
    await expect(vault.checkpointAudit({ signer, sink: () => Promise.reject(full) })).rejects.toBe(full)
  })

  it('rejects a signature of another length than its algorithm has, and an unknown algorithm, before anything is kept', async () => {
    const vault = await openClients(engine.fresh().open())
    const kept: SignedCheckpoint[] = []
    const sink = async (checkpoint: SignedCheckpoint): Promise<void> => void kept.push(checkpoint)
    const { signer: other } = createSigning('pq', 'ml-dsa-65')
    const short = { ...signer, sign: async () => new Uint8Array(63) }
    const mixed = { keyId: 'pq', sign: other.sign }
    for (const wrong of [short, mixed])
      await expect(vault.checkpointAudit({ signer: wrong, sink })).rejects.toMatchObject({ code: 'failed_precondition' })
    const unknown = { ...signer, algorithm: 'RSA' as 'Ed25519' }
    await expect(vault.checkpointAudit({ signer: unknown, sink })).rejects.toMatchObject({ code: 'invalid_request' })
    expect(kept).toEqual([])
    expect(await vault.checkpointAudit({ signer: other, sink })).toMatchObject({ keyId: 'pq', algorithm: 'ML-DSA-65' })
    expect((await vault.verifyAudit({ checkpoints: kept })).ok).toBe(true)
  })
})
