/** A network that is silent: every call of a vault and its close end, after one wait and not one for each step, and the vault goes on when it answers. */
import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { type PostgresOptions, postgresStorage } from '../../../src/adapters/postgres/index.ts'
import { isVaultError } from '../../../src/index.ts'
import { type FaultyProxy, startFaultyProxy } from '../../support/postgres/faulty-proxy.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { OWNER, openPeople } from '../../support/vaults/test-vault.ts'

/** Far more than one wait on these vaults, and far less than one for each step of a call: a new connection is waited for by 30 seconds. */
const LIMIT_MS = 25_000

const database = await freshDatabase(inject('postgresUrl'))
let proxy: FaultyProxy
const endings: (() => Promise<unknown>)[] = []
beforeEach(async () => {
  proxy = await startFaultyProxy(database.url)
})
afterEach(async () => {
  await proxy.stop()
  for (const end of endings.splice(0).reverse()) await end()
})
afterAll(() => database.drop())

let schemas = 0
const POOLS = {
  own: () => ({ connectionString: proxy.url }),
  application() {
    const pool = new pg.Pool({ connectionString: proxy.url, max: 4, connectionTimeoutMillis: 1000 })
    pool.on('error', () => {})
    endings.push(() => pool.end())
    return { pool }
  },
}

/** A vault behind the proxy with one record, and several connections that are idle. */
async function open(pool: keyof typeof POOLS, timeouts: PostgresOptions['timeouts']) {
  const vault = await openPeople(
    postgresStorage({ ...POOLS[pool](), schema: `silent_${++schemas}`, ...(timeouts && { timeouts }) }),
  )
  endings.push(() => vault.close())
  const session = vault.as(OWNER)
  const { records } = await session.insert('people', [{ fields: { name: 'Ann' } }])
  const id = records[0]?.id ?? ''
  await Promise.all(Array.from({ length: 4 }, (_, n) => session.insert('people', [{ fields: { name: `N${n}`, badge: `${n}` } }])))
  return { vault, session, id }
}

/** The codes with which calls end; 'answered' for one that does not fail. */
const codesOf = (calls: readonly Promise<unknown>[]) =>
  Promise.all(
    calls.map((call) =>
      call.then(
        () => 'answered',
        (error: unknown) => (isVaultError(error) ? error.code : String(error)),
      ),
    ),
  )

for (const pool of ['own', 'application'] as const) {
  describe(`a silent network behind a pool of the ${pool}`, () => {
    it(
      'ends calls of every kind, also those that wait for others, and a vault goes on as soon as it answers',
      async () => {
        const { vault, session, id } = await open(pool, { statementMs: 1000 })
        proxy.intercept({ fromClient: () => 'silence' })
        const codes = await codesOf([
          session.getOne('people', id),
          session.query('SELECT name FROM people'),
          session.insert('people', [{ fields: { name: 'lost' } }]),
          vault.transaction(async (inside) => inside.as(OWNER).getOne('people', id)),
          vault.credentials.find('unknown'),
          ...Array.from({ length: 6 }, (_, n) => session.updateOne('people', id, { name: `U${n}` })),
        ])
        expect(codes.filter((code) => code !== 'unavailable' && code !== 'outcome_unknown')).toEqual([])
        expect(await codesOf([session.getOne('people', id)])).toEqual(['unavailable'])
        proxy.mend()
        // Connections that were idle are as silent as before. Those of an application are found one by one.
        await expect.poll(() => codesOf([session.getOne('people', id)])).toEqual(['answered'])
        proxy.dropLost()
        expect(await vault.verifyAudit()).toMatchObject({ ok: true })
      },
      2 * LIMIT_MS,
    )

    it(
      'does not hold up the close of a vault whose calls hang, whatever they hang on',
      async () => {
        const { vault, session, id } = await open(pool, { closeMs: 300 })
        const never = new Promise<never>(() => {})
        let isInside = (): void => {}
        const inside = new Promise<void>((resolve) => {
          isInside = resolve
        })
        void vault.transaction(async (inner) => {
          await inner.as(OWNER).getOne('people', id)
          isInside()
          return never
        })
        await inside
        proxy.intercept({ fromClient: () => 'silence' })
        const calls = codesOf([session.getOne('people', id), session.insert('people', [{ fields: { name: 'lost' } }])])
        await vault.close()
        expect((await calls).filter((code) => code === 'answered')).toEqual([])
        await expect(session.getOne('people', id)).rejects.toMatchObject({ code: 'failed_precondition' })
      },
      LIMIT_MS,
    )
  })
}

it(
  'a vault whose connections are gone when the network falls silent ends its calls after one wait for a new one',
  async () => {
    const { session, id } = await open('own', { connectMs: 1000 })
    proxy.intercept({ fromClient: () => 'reset' })
    for (let connection = 0; connection < 5; connection++) await codesOf([session.getOne('people', id)])
    proxy.intercept({ fromClient: () => 'silence' })
    expect(await codesOf([session.getOne('people', id), session.getOne('people', id)])).toEqual(['unavailable', 'unavailable'])
  },
  LIMIT_MS,
)
