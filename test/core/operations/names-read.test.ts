/** Events of queries and of listings say which tables, columns and filters they name, whatever came of it, and no other text of the caller. */
import { expect, it } from 'vitest'
import { isVaultError } from '../../../src/index.ts'
import { callerOf, eventsBy, listedBy, openClients } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { CLERK, OWNER } from '../../support/vaults/test-vault.ts'

const ALL = { accountID: 'v1' }

/** A query, and the names in its event. */
const QUERIES: readonly (readonly [sql: string, names: object, code: number])[] = [
  [
    "SELECT name, c.salary AS pay FROM clients c WHERE c.email = 'x' AND NOT country IS NULL LIMIT 1",
    {
      tables: ['clients'],
      columns: ['clients.name', 'clients.salary', 'clients.email', 'clients.country'],
      filters: ['clients.email', 'clients.country'],
    },
    200,
  ],
  [
    'SELECT COUNT(*), MAX(salary) FROM clients JOIN orders ON memo = email',
    {
      tables: ['clients', 'orders'],
      columns: ['clients.salary', 'orders.memo', 'clients.email'],
      filters: ['orders.memo', 'clients.email'],
    },
    200,
  ],
  [
    'SELECT o.*, c.row_id FROM clients c LEFT JOIN orders o ON o.memo = c.name WHERE o.row_id IS NULL',
    {
      tables: ['clients', 'orders'],
      columns: ['orders.*', 'clients.svc_id', 'orders.memo', 'clients.name', 'orders.svc_id'],
      filters: ['orders.memo', 'clients.name', 'orders.svc_id'],
    },
    200,
  ],
  ['SELECT * FROM clients', { tables: ['clients'], columns: ['clients.*'], filters: [] }, 200],
  [
    'SELECT name AS n, COUNT(*) AS janedoe FROM clients WHERE salary IN (1, 2) GROUP BY name, email ORDER BY janedoe, email',
    { tables: ['clients'], columns: ['clients.name', 'clients.salary', 'clients.email'], filters: ['clients.salary'] },
    200,
  ],
  // Failed: an unknown column, an unknown table, a type, and SQL that is not supported.
  [
    "SELECT janedoe FROM clients WHERE salary > 'janedoe'",
    { tables: ['clients'], columns: ['*UNKNOWN*', 'clients.salary'], filters: ['clients.salary'] },
    400,
  ],
  ['SELECT name FROM janedoe', { tables: ['*UNKNOWN*'], columns: ['*UNKNOWN*'], filters: [] }, 400],
  [
    "SELECT name FROM clients WHERE salary = 'janedoe'",
    { tables: ['clients'], columns: ['clients.name', 'clients.salary'], filters: ['clients.salary'] },
    422,
  ],
  [
    'SELECT name, janedoe FROM clients WHERE "Salary" BETWEEN 1 AND 2 UNION janedoe',
    { tables: ['clients'], columns: ['clients.name', 'clients.salary'], filters: [] },
    400,
  ],
  ["SELECT 'janedoe", { tables: [], columns: [], filters: [] }, 400],
]

onEachStorage('the names of a read', (engine) => {
  it('are in the event of every query, and find it by its tables', async () => {
    const vault = await openClients(engine.fresh().open())
    const owner = vault.as(OWNER)
    for (const [sql, names, code] of QUERIES) {
      const { events } = await eventsBy(vault, () => owner.query(sql, sql.includes('row_id') ? { idName: 'row_id' } : {}))
      expect(events, sql).toMatchObject([{ action: 'QUERY', code }])
      expect(JSON.parse(events[0]?.content ?? ''), sql).toMatchObject({ query: '*REDACTED*', ...names })
      expect(JSON.stringify(events), sql).not.toMatch(/janedoe/i)
    }
    const tables = QUERIES.map(([, names]) => ('tables' in names ? String(names.tables) : ''))
    const listed = (await listedBy(owner)).filter(({ request }) => request.actionType === 'QUERY')
    for (const table of ['clients', 'orders']) {
      const { events } = await owner.listEvents({
        filterOps: { ...ALL, actionType: 'QUERY', resourceIDs: `TABLE/${table}` },
        limit: 100,
      })
      const expected = listed.filter((_, index) => tables[index]?.split(',').includes(table))
      expect([...events].reverse(), table).toEqual(expected)
      for (const { request } of events) expect(request.resources).toContain(`TABLE/${table}`)
    }
  })

  it('are in the event of a query that is refused', async () => {
    const vault = await openClients(engine.fresh().open(), { policy: { clerk: ['ALLOW READ ON clients.name'] } })
    for (const caller of [CLERK, callerOf()]) {
      const { error, events } = await eventsBy(vault, () => vault.as(caller).query('SELECT name FROM clients WHERE salary > 5'))
      expect(isVaultError(error)).toBe(true)
      expect(JSON.parse(events[0]?.content ?? '')).toEqual({
        query: '*REDACTED*',
        tables: ['clients'],
        columns: ['clients.name', 'clients.salary'],
        filters: ['clients.salary'],
      })
      expect(events).toMatchObject([{ tables: ['clients'] }])
    }
  })

  it('are in the event of a listing, which its tables find', async () => {
    const vault = await openClients(engine.fresh().open())
    const owner = vault.as(OWNER)
    const query = {
      filterOps: { ...ALL, context: { actor: 'janedoe' }, resourceIDs: ['TABLE/clients', 'TABLE/janedoe'], actionType: 'GET' },
      sortOps: { sortBy: 'actor', orderBy: 'ASCENDING' },
      limit: 5,
    } as const
    const HIDDEN = '*REDACTED*'
    const content = {
      query: {
        filterOps: {
          accountID: HIDDEN,
          context: { actor: HIDDEN },
          resourceIDs: [{ each: HIDDEN, times: 2 }],
          actionType: 'GET',
        },
        sortOps: { sortBy: 'actor', orderBy: 'ASCENDING' },
        limit: 5,
      },
    }
    for (const caller of [OWNER, CLERK]) {
      const { events } = await eventsBy(vault, () => vault.as(caller).listEvents(query))
      expect(JSON.parse(events[0]?.content ?? '')).toEqual(content)
      expect(events).toMatchObject([{ action: 'LIST_EVENTS', tables: ['clients'] }])
      expect(JSON.stringify(events)).not.toContain('janedoe')
    }
    const invalid = {
      filterOps: { ...ALL, janedoe: 1, resourceType: 'janedoe' },
      sortOps: { orderBy: 'janedoe' },
      janedoe: 1,
    } as never
    const { events } = await eventsBy(vault, () => owner.listEvents(invalid))
    expect(JSON.parse(events[0]?.content ?? '')).toEqual({
      query: {
        filterOps: { accountID: HIDDEN, '*UNKNOWN*': HIDDEN, resourceType: HIDDEN },
        sortOps: { orderBy: HIDDEN },
        '*UNKNOWN*': HIDDEN,
      },
    })
    const found = await owner.listEvents({ filterOps: { ...ALL, actionType: 'LIST_EVENTS', resourceIDs: 'TABLE/clients' } })
    expect(found.events.map(({ response }) => response.code)).toEqual([401, 200])
  })
})
