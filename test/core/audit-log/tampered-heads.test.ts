/** Heads that are changed in the database while two processes append to their chains: no call fails, and verification reports each change. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Row, StorageHandle } from '../../../src/core/ports/storage.ts'
import { AUDIT_CHAINS } from '../../../src/core/schema/system-tables.ts'
import type { Vault } from '../../../src/index.ts'
import { type Clients, openClients } from '../../support/audit/audited-clients.ts'
import { type SeededRandom, seededRandom } from '../../support/random/seeded-random.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const SEED = 'tampered-heads'
const HEADS = AUDIT_CHAINS.name
const CALLERS = 4
/** States of the heads that are kept, to be put back. */
const KEPT = 5
/** Calls of each caller after the change. */
const CALLS_AFTER = 10

/** Returns the row to put in place of a head, given one that the same chain had before. Undefined deletes it. */
type Tamper = (head: Row, before: Row) => Row | undefined

const TAMPERINGS: Readonly<Record<string, Tamper>> = {
  'one with a flipped bit': (head) => ({ ...head, body: flipped(head) }),
  'one with a flipped bit and a later version': (head) => ({ ...head, version: head.version + 1, body: flipped(head) }),
  'an earlier state': (_, before) => before,
  'the bytes of an earlier state at their own version': (head, before) => ({ ...before, version: head.version }),
  nothing: () => undefined,
}

function flipped({ body }: Row): Uint8Array {
  return Uint8Array.from(body instanceof Uint8Array ? body : [], (byte, at) => (at === 30 ? byte ^ 1 : byte))
}

async function headsOf(storage: StorageHandle): Promise<readonly Row[]> {
  return storage.find(HEADS, { kind: 'all' }, { order: 'asc', limit: 1000 })
}

/** Replaces a row at once, also its version. */
async function replaceRow(storage: StorageHandle, id: number, row: Row | undefined): Promise<void> {
  await storage.transaction(async (inner) => {
    await inner.delete(HEADS, { ids: [id] })
    if (row !== undefined) await inner.insert(HEADS, [row])
  })
}

/** Changes the head of a chain that has moved meanwhile. Returns the chain. */
async function tamperOnce(storage: StorageHandle, random: SeededRandom, tamper: Tamper): Promise<number> {
  const kept: Row[] = []
  for (;;) {
    await pause(1)
    const heads = await headsOf(storage)
    const moved = heads.filter(({ id, version }) => kept.some((before) => before.id === id && before.version < version))
    if (kept.length >= KEPT && moved.length > 0) {
      const head = random.pick(moved)
      const before = random.pick(kept.filter(({ id, version }) => id === head.id && version < head.version))
      await replaceRow(storage, head.id, tamper(head, before))
      return head.id
    }
    kept.push(...heads)
  }
}

async function callOnce(random: SeededRandom, vault: Vault<Clients>, id: string): Promise<unknown> {
  const session = vault.as(OWNER)
  const verb = random.below(4)
  if (verb === 0) return session.insert('clients', [{ fields: { name: 'a' } }])
  if (verb === 1) return session.updateOne('clients', id, { country: 'SE' })
  if (verb === 2) return Promise.all(Array.from({ length: 4 }, () => session.getOne('clients', id)))
  return session.get('clients', { limit: 2 })
}

onEachStorage(`heads that are in use (seed ${SEED})`, (engine) => {
  it.each(Object.entries(TAMPERINGS))('replaced by %s are reported, and no call fails', async (name, tamper) => {
    const random = seededRandom(`${SEED} ${name}`)
    const place = engine.fresh()
    const vaults = [await openClients(place.open()), await openClients(place.open())]
    const storage = place.open()
    await storage.prepare([AUDIT_CHAINS])
    const { records } = await random
      .pick(vaults)
      .as(OWNER)
      .insert('clients', [{ fields: { name: 'a' } }])
    const id = records[0]?.id ?? ''
    let left = Number.POSITIVE_INFINITY
    const callers = Array.from({ length: CALLERS }, async (_, index) => {
      const own = random.fork(`${index}`)
      for (; left > 0; left--) await callOnce(own, own.pick(vaults), id)
    })
    const tampering = tamperOnce(storage, random, tamper).finally(() => {
      left = CALLERS * CALLS_AFTER
    })
    const [chain] = await Promise.all([tampering, ...callers])
    for (const vault of vaults) expect(await vault.verifyAudit()).toMatchObject({ ok: false, firstFailure: { chain } })
  })
})
