/** Callers who do a bit of everything at once, and count what they did. */
import type { Vault } from '../../../src/index.ts'
import { OWNER, STRANGER } from '../vaults/test-vault.ts'
import type { Clients } from './audited-clients.ts'

/** How much work: so many callers at once, each with so many operations one after the other. */
export interface Work {
  /** Tells these callers' records from those of others. */
  readonly name: string
  readonly callers: number
  readonly each: number
}

/** Does the work, in which some things fail; answers how many operations there were. */
export async function doOperations(vault: Vault<Clients>, { name, callers, each }: Work): Promise<number> {
  const counts = await Promise.all(Array.from({ length: callers }, (_, caller) => doSome(vault, `${name}/${caller}`, each)))
  return counts.reduce((sum, count) => sum + count, 0)
}

async function doSome(vault: Vault<Clients>, name: string, each: number): Promise<number> {
  const session = vault.as(OWNER)
  const { records } = await session.insert('clients', [{ fields: { name, email: `${name}@acme.example` } }])
  const id = records[0]?.id ?? ''
  const operations: readonly (() => Promise<unknown>)[] = [
    () => session.getOne('clients', id),
    () => session.update('clients', id, { fields: { country: 'SE' } }),
    () => session.insert('clients', [{ fields: { name, email: `${name}@acme.example` } }]),
    () => session.insert('clients', [{ fields: { name, email: 'shared@acme.example' } }], { upsert: 'email' }),
    () => vault.as(STRANGER).getOne('clients', id),
    () => vault.transaction(async (inside) => void (await inside.as(OWNER).insert('orders', [{ fields: { memo: name } }]))),
    () => session.detokenize([{ token: 'nothing' }]),
  ]
  // Which of them fail is known, and beside the point: each leaves its event.
  for (let n = 1; n < each; n++) await operations[n % operations.length]?.().catch(assertExpected)
  return each
}

const EXPECTED: ReadonlySet<unknown> = new Set(['conflict', 'forbidden', 'not_found'])

function assertExpected(error: unknown): void {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
  if (!EXPECTED.has(code)) throw error
}
