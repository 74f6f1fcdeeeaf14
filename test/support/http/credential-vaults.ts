/** Vaults with credentials and a clock that a test moves, on memory and SQLite. */
import { describe } from 'vitest'
import type { Authenticate, Authenticated, Refused } from '../../../src/http/credentials/authenticate.ts'
import type { Vault } from '../../../src/index.ts'
import { type Clients, openClients } from '../audit/audited-clients.ts'
import { type Engine, memoryEngine, sqliteEngine } from '../storages/engines.ts'

export const TOKEN_URI = 'https://vault.example/v1/auth/sa/oauth/token'

/** A moment in milliseconds since 1970, which a test changes. */
export interface TestClock {
  ms: number
  now(): bigint
}

/** Returns a clock at a whole second. */
export function testClock(ms = 1_800_000_000_000): TestClock {
  const clock = { ms, now: () => BigInt(clock.ms) * 1_000_000n }
  return clock
}

/** Describes the tests on memory and on SQLite. */
export function onMemoryAndSqlite(title: string, body: (engine: Engine) => void): void {
  describe(`${title} on memory`, () => body(memoryEngine()))
  describe(`${title} on sqlite`, () => body(sqliteEngine()))
}

/** Opens a vault of clients whose country a policy compares with the context of the caller. */
export function openVaultAt(engine: Engine, clock: TestClock, id = 'v1'): Promise<Vault<Clients>> {
  const policy = { reader: ['ALLOW READ ON clients.*'], writer: ['ALLOW CREATE ON clients.*'] } as const
  return openClients(engine.fresh().open(), { id, clock, policy })
}

/** What an authenticator says of a credential. `vault` is undefined for a vault that does not exist. */
export function ask(
  authenticate: Authenticate,
  credential: string,
  vault: Vault<Clients> | undefined,
): Promise<Authenticated | Refused | undefined> {
  return authenticate({
    credential,
    vault,
    vaultID: vault?.id ?? 'v9',
    header: () => undefined,
  })
}
