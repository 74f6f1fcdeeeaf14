/** A small audited vault, its trail read without new events, and callers with any roles. */

import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { ChainedEvent } from '../../../src/core/audit/event.ts'
import {
  type AuditEvent,
  type Caller,
  column,
  createVault,
  defineSchema,
  mask,
  type PolicyFor,
  type Session,
  type Vault,
  type VaultOptions,
} from '../../../src/index.ts'
import type { StorageHandle } from '../../../src/storage-port.ts'
import { TEST_SECRET } from '../vaults/test-vault.ts'

/** Two tables, one with random and deterministic tokens. */
export const clients = defineSchema({
  clients: {
    name: column.string({ required: true, token: 'random', redaction: 'MASKED', mask: mask.keepFirst(1) }),
    email: column.string({ unique: true, token: 'deterministic', redaction: 'PLAIN_TEXT' }),
    country: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' }),
    salary: column.integer({ searchable: true, redaction: 'PLAIN_TEXT' }),
  },
  orders: { memo: column.string({ searchable: true, token: 'deterministic' }) },
})

/** The schema's definition, for types. */
export type Clients = (typeof clients)['tables']
/** A session on the vault of `clients`. */
export type ClientSession = Session<Clients>

/** Three records of `clients`: of SE, DE, SE. */
export const PEOPLE = [
  { name: 'Anna', email: 'anna@acme.example', country: 'SE', salary: 100 },
  { name: 'Bert', email: 'bert@acme.example', country: 'DE', salary: 200 },
  { name: 'Cilla', email: 'cilla@acme.example', country: 'SE', salary: 300 },
] as const

/** Opens the vault of `clients`. It can be opened several times on one storage. */
export function openClients(
  storage: StorageHandle,
  more: Partial<VaultOptions<Clients>> & { readonly policy?: PolicyFor<Clients> } = {},
): Promise<Vault<Clients>> {
  return createVault({ id: 'v1', schema: clients, keys: localKeys({ key: TEST_SECRET }), ...more, storage })
}

/** A caller with these roles. */
export function callerOf(...roles: readonly string[]): Caller {
  return { actor: 'robin@acme.example', actorType: 'USER', roles }
}

/** Every event of the trail, by time. This read records no event. */
export async function eventsOf(vault: Pick<Vault, 'exportAudit'>): Promise<ChainedEvent[]> {
  const events: ChainedEvent[] = []
  for await (const line of vault.exportAudit()) {
    const { event } = JSON.parse(line) as { event?: ChainedEvent } // A line of an export that this vault wrote.
    if (event !== undefined) events.push(event)
  }
  return events.sort((left, right) => (left.timestamp < right.timestamp ? -1 : 1))
}

/** The result or error of the work, and the events that it recorded. */
export async function eventsBy(
  vault: Pick<Vault, 'exportAudit'>,
  work: () => Promise<unknown>,
): Promise<{ answer: unknown; error: unknown; events: ChainedEvent[] }> {
  const before = new Set((await eventsOf(vault)).map(({ changeID }) => changeID))
  let [answer, error]: unknown[] = []
  try {
    answer = await work()
  } catch (thrown) {
    error = thrown
  }
  const events = (await eventsOf(vault)).filter(({ changeID }) => !before.has(changeID))
  return { answer, error, events }
}

/** Every event as an auditor lists it, oldest first, read page by page. */
export async function listedBy(session: ClientSession): Promise<AuditEvent[]> {
  const listed: AuditEvent[] = []
  for (let after: { timestamp: string; changeID: string } | undefined; ; ) {
    const query = { filterOps: { accountID: 'v1' }, limit: 100, ...(after === undefined ? {} : { afterOps: after }) }
    const { events, nextOps } = await session.listEvents(query)
    listed.push(...events)
    if (nextOps === undefined) return listed.reverse()
    after = nextOps
  }
}
