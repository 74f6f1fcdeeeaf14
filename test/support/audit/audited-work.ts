/** Concurrent callers that run every kind of operation and count them. */
import type { Vault } from '../../../src/index.ts'
import { randomFor } from '../random/seeded-random.ts'
import { CLERK, OWNER } from '../vaults/test-vault.ts'
import type { Clients } from './audited-clients.ts'

/** The amount of work: `callers` concurrent callers, each with `each` operations in sequence. */
export interface Work {
  /** Distinguishes the records of these callers from those of others. */
  readonly name: string
  readonly callers: number
  readonly each: number
  /** Chooses the operations; without it each caller runs them in turn. */
  readonly seed?: string
}

/** Does the work, in which some operations fail. Returns the number of operations. */
export async function doOperations(vault: Vault<Clients>, { callers, ...work }: Work): Promise<number> {
  const counts = await Promise.all(
    Array.from({ length: callers }, (_, caller) => doSome(vault, { ...work, name: `${work.name}/${caller}` })),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

async function doSome(vault: Vault<Clients>, { name, each, seed }: Omit<Work, 'callers'>): Promise<number> {
  const random = seed === undefined ? undefined : randomFor(`${seed}/${name}`)
  const session = vault.as(OWNER)
  const { records } = await session.insert('clients', [{ fields: { name, email: `${name}@acme.example` } }])
  const id = records[0]?.id ?? ''
  const operations: readonly (() => Promise<unknown>)[] = [
    () => session.getOne('clients', id),
    () => session.updateOne('clients', id, { country: 'SE' }),
    () => session.insert('clients', [{ fields: { name, email: `${name}@acme.example` } }]),
    () => session.insert('clients', [{ fields: { name, email: 'shared@acme.example' } }], { upsert: 'email' }),
    () => vault.as(CLERK).getOne('clients', id),
    () => vault.transaction(async (inside) => void (await inside.as(OWNER).insert('orders', [{ fields: { memo: name } }]))),
    () => session.detokenize([{ token: 'nothing' }]),
  ]
  // It does not matter which operations fail: each records one event.
  for (let n = 1; n < each; n++) await (random?.pick(operations) ?? operations[n % operations.length])?.().catch(assertExpected)
  return each
}

const EXPECTED: ReadonlySet<unknown> = new Set(['conflict', 'forbidden', 'not_found'])

function assertExpected(error: unknown): void {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
  if (!EXPECTED.has(code)) throw error
}
