/** A vault with something of each kind that is sealed, to rotate its keys: what it holds, and whether all of it is still there. */
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { KeyProvider } from '../../../src/core/ports/crypto.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import type { Clock } from '../../../src/core/ports/time.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { column, defineSchema, isVaultError, type Vault } from '../../../src/index.ts'
import { SYSTEM_PORTS } from './system-ports.ts'
import { OWNER, TEST_SECRET } from './test-vault.ts'

export const ROTATING_TABLES = {
  people: {
    email: column.string({ redaction: 'PLAIN_TEXT', token: 'deterministic', unique: true }),
    name: column.string({ redaction: 'PLAIN_TEXT', token: 'random' }),
    pin: column.string({ redaction: 'PLAIN_TEXT', token: 'transient' }),
    city: column.string({ encrypted: false, redaction: 'PLAIN_TEXT' }),
    scan: column.file({ redaction: 'PLAIN_TEXT' }),
  },
  others: { a: column.string({ redaction: 'PLAIN_TEXT' }) },
}

export type RotatingVault = Vault<typeof ROTATING_TABLES>

/** How a process opens it. */
export interface RotatingOptions {
  readonly audit?: 'on' | 'off'
  readonly keys?: KeyProvider
  /** Milliseconds by which its clock is ahead: those of a lease for a process that takes over. */
  readonly aheadMs?: number
  readonly timer?: (typeof SYSTEM_PORTS)['timer']
}

/** More than the lease of a job. */
export const LEASE_MS = 61_000

export function openRotating(storage: StorageHandle, given: RotatingOptions = {}): Promise<RotatingVault> {
  const { audit = 'on', keys = localKeys({ key: TEST_SECRET }), aheadMs = 0, timer = SYSTEM_PORTS.timer } = given
  const clock: Clock = { now: () => SYSTEM_PORTS.clock.now() + BigInt(aheadMs) * 1_000_000n }
  return openVault({ ...SYSTEM_PORTS, timer, clock, id: 'v1', schema: defineSchema(ROTATING_TABLES), storage, audit, keys })
}

/** What a vault was filled with. */
export interface Filled {
  readonly ids: readonly string[]
  /** By the number of a person. */
  readonly tokens: readonly Readonly<Record<string, string | undefined>>[]
  readonly keyId: string
}

const CONTENT = 'content of a file'
const emailOf = (n: number) => `p${n}@acme.example`

/** Stores something of each kind that is sealed. */
export async function fillRotating(vault: RotatingVault, people = 300): Promise<Filled> {
  const session = vault.as(OWNER)
  const fields = Array.from({ length: people }, (_, n) => ({
    fields: { email: emailOf(n), name: `name ${n}`, pin: `${n}`, city: 'Bonn' },
  }))
  const { records } = await session.insert('people', fields, { tokenization: true })
  await session.insert('others', [{ fields: { a: 'one' } }])
  const ids = records.map(({ id }) => id)
  const file = new Blob([CONTENT])
  await session.uploadFile({ table: 'people', column: 'scan', id: ids[0] ?? '', file, fileName: 'a.txt' })
  const { keyId } = await session.createCredential({ kind: 'API_KEY', name: 'k', roles: ['r'], verifier: 'a'.repeat(64) })
  return { ids, tokens: records.map(({ tokens }) => tokens), keyId }
}

/** Returns what is not as `fillRotating` stored it. */
export async function missingIn(vault: RotatingVault, { ids, tokens, keyId }: Filled): Promise<string[]> {
  const session = vault.as(OWNER)
  const missing: string[] = []
  const check = async (what: string, work: () => Promise<boolean>): Promise<void> => {
    const found = await work().catch((error: unknown) => (isVaultError(error) ? error.message : String(error)))
    if (found !== true) missing.push(found === false ? what : `${what}: ${found}`)
  }
  await check('records', async () => {
    const { records } = await session.get('people', { ids: ids.slice(0, 25) })
    return (
      records.length === Math.min(25, ids.length) &&
      records.every(({ id, fields: { email, name } }) => {
        const n = ids.indexOf(id)
        return email === emailOf(n) && name === `name ${n}`
      })
    )
  })
  await check('tokens', async () => {
    const some = tokens.slice(0, 25)
    const asked = some.flatMap(({ name, email, pin }) => [name, email, pin]).map((token = '') => ({ token }))
    const values = (await session.detokenize(asked)).records.map(({ value }) => value)
    return values.join() === some.flatMap((_, n) => [`name ${n}`, emailOf(n), `${n}`]).join()
  })
  await check('file', async () => {
    const { stream } = await session.openFile('people', ids[0] ?? '', 'scan')
    return (await new Response(ReadableStream.from(stream)).text()) === CONTENT
  })
  await check('credential', async () => (await vault.credentials.find(keyId))?.name === 'k')
  await check('unique', () =>
    session.insertOne('people', { email: emailOf(0) }).then(
      () => false,
      (error: unknown) => isVaultError(error, 'conflict'),
    ),
  )
  await check('verifyRecords', async () => (await vault.verifyRecords()).ok)
  await check('verifyAudit', async () => (await vault.verifyAudit()).ok)
  return missing
}

/** Returns the bodies that an older key than the active one seals, by version, table and number; and pending keys. */
export async function leftBehind(vault: RotatingVault): Promise<string[]> {
  const { keys } = await vault.keys({ count: true })
  return keys.flatMap(({ version, state, bodies = {} }) => {
    if (state === 'active') return []
    if (state === 'pending') return [`key ${version} is pending`]
    return Object.entries(bodies).map(([table, count]) => `key ${version} seals ${count} of ${table}`)
  })
}
