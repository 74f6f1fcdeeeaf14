/** Reading a policy, checking a draft of it, and seeing records as another caller: who may, what events record, and what is refused. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { column, mask } from '../../../src/index.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const TABLES = {
  customers: {
    name: column.string({ redaction: 'MASKED', mask: mask.keepFirst(1) }),
    country: column.string({ encrypted: false, redaction: 'PLAIN_TEXT' }),
    risk: column.integer({ redaction: 'PLAIN_TEXT', token: 'random' }),
  },
  patients: {
    name: column.string({ redaction: 'PLAIN_TEXT' }),
    weight: column.integer({ encrypted: false, redaction: 'PLAIN_TEXT', requires: ['purpose'] }),
  },
}
const POLICY = {
  support: ['ALLOW READ ON customers.name'],
  analyst: ['ALLOW READ\n  ON customers.risk WHERE country = ctx.Country', "DENY READ ON customers.risk WHERE country = 'NO'"],
  careful: ['ALLOW ALL ON * WITH REDACTION = PLAIN_TEXT'],
  denied: ['DENY READ ON customers.risk'],
  wide: ['ALLOW ALL ON *'],
}
const OWN = { name: 'MASKED' }

async function open() {
  const opened = await openLoose(memoryStorage(), TABLES, { policy: POLICY })
  const { records } = await opened.session.insert(
    'customers',
    [
      ['Ann', 'SE'],
      ['Bo', 'NO'],
      ['Cy', 'SE'],
    ].map(([name, country], risk) => ({ fields: { name, country, risk } })),
  )
  const as = (...roles: string[]) => opened.vault.as({ ...OWNER, roles })
  const events = async () => {
    const { events } = await opened.vault.as(OWNER).listEvents({ filterOps: { accountID: 'v1' }, limit: 100 })
    return events.filter(({ request }) => request.actionType !== 'LIST_EVENTS' && request.actionType !== 'INSERT')
  }
  return { ...opened, as, events, ids: records.map(({ id }) => id) }
}

it('a policy is read by those who can grant everything', async () => {
  const { as, events } = await open()
  expect(await as('careful').readPolicy()).toEqual({
    roles: [
      { name: 'support', statements: ['ALLOW READ ON customers.name'] },
      {
        name: 'analyst',
        statements: [
          'ALLOW READ ON customers.risk WHERE country = ctx.Country',
          "DENY READ ON customers.risk WHERE country = 'NO'",
        ],
      },
      { name: 'careful', statements: ['ALLOW ALL ON * WITH REDACTION = PLAIN_TEXT'] },
      { name: 'denied', statements: ['DENY READ ON customers.risk'] },
      { name: 'wide', statements: ['ALLOW ALL ON *'] },
    ],
    builtIn: ['VAULT_OWNER', 'VAULT_EDITOR', 'VAULT_VIEWER'],
    contextNames: ['country'],
  })
  for (const roles of [['support'], ['wide'], ['VAULT_EDITOR'], ['VAULT_OWNER', 'denied'], []]) {
    const other = as(...roles)
    for (const call of [other.readPolicy(), other.checkPolicy({ roles: {} }), other.previewAccess({ roles: ['VAULT_OWNER'] })])
      await expect(call).rejects.toMatchObject({ code: 'forbidden' })
  }
  expect(
    (await events()).map(({ request: { actionType } }) => actionType).filter((action) => action === 'READ_POLICY'),
  ).toHaveLength(11)
})

it('records are seen as another caller, beside what the caller sees', async () => {
  const { as, ids, vault } = await open()
  const context = { Country: 'SE' }
  const first = await as('VAULT_OWNER').previewAccess({ roles: ['analyst'], context, table: 'customers', limit: 2 })
  expect(first.records).toEqual([
    {
      id: ids[0],
      yours: { fields: { name: 'A**', country: 'SE', risk: 0 }, levels: OWN },
      theirs: { fields: { risk: 0 }, levels: {} },
    },
    { id: ids[1], yours: { fields: { name: 'B*', country: 'NO', risk: 1 }, levels: OWN }, theirs: { fields: {}, levels: {} } },
  ])
  const theirs = await vault.as({ ...OWNER, roles: ['analyst'], context }).perform('describeSchema', {})
  expect(first.tables).toEqual(theirs.tables)
  const draft = { analyst: ['ALLOW READ ON customers.name WITH REDACTION = PLAIN_TEXT'] }
  const after = first.next ?? ''
  const input = { roles: ['analyst'], table: 'customers', redaction: 'PLAIN_TEXT', draft, after } as const
  const { records, next, draftTables } = await as('VAULT_OWNER').previewAccess(input)
  expect(draftTables?.flatMap(({ columns }) => columns.map(({ name, read }) => [name, read.level]))).toEqual([
    ['name', 'PLAIN_TEXT'],
  ])
  expect(records).toEqual([
    {
      id: ids[2],
      yours: { fields: { name: 'Cy', country: 'SE', risk: 2 }, levels: {} },
      theirs: { fields: {}, levels: {} },
      draft: { fields: { name: 'Cy' }, levels: {} },
    },
  ])
  expect(next).toBeUndefined()
  await expect(as('analyst').get('customers', { fields: ['name'] })).rejects.toMatchObject({ code: 'forbidden' })
})

it('one event says who looked, as whom, and at what', async () => {
  const { as, events, ids } = await open()
  const context = { country: 'SE', home: 'ann@acme.example', email: 'end@acme.example' }
  const draft = { fresh: ['ALLOW READ ON customers.name WHERE name = ctx.home'] }
  await as('VAULT_OWNER').previewAccess({
    roles: ['analyst', 'ann@acme.example'],
    context,
    purpose: 'CASE-7',
    table: 'customers',
  })
  await as('VAULT_OWNER').previewAccess({ roles: ['fresh'], context, table: 'customers', limit: 1, draft })
  await expect(as('support').previewAccess({ roles: ['analyst'], context })).rejects.toMatchObject({ code: 'forbidden' })
  const seen = (await events()).map(({ context: { actor }, request, response: { code, data } }) => ({
    actor,
    request,
    code,
    data,
  }))
  expect(seen).toMatchObject([
    { code: 401, request: { actionType: 'GET' } },
    {
      code: 200,
      request: { seenAs: { roles: ['fresh'], context: { country: 'SE', home: 'ann@acme.example' } } },
      data: { content: '{"table":"customers","limit":1,"draft":"*REDACTED*"}' },
    },
    {
      actor: OWNER.actor,
      code: 200,
      request: {
        actionType: 'GET',
        resources: ['TABLE/customers', ...ids.map((id) => `RECORD/${id}`)],
        seenAs: { roles: ['analyst', '*UNKNOWN*'], context: { country: 'SE', purpose: 'CASE-7' } },
      },
    },
  ])
  expect(seen).toHaveLength(3)
  expect(seen[0]?.request.seenAs).toEqual({ roles: ['analyst'], context: {} })
})

it('no condition of another caller, or of a draft, identifies the values of a column that requires a purpose', async () => {
  const { vault, session } = await open()
  await session.insert('patients', [{ fields: { name: 'Ann', weight: 61 } }, { fields: { name: 'Bo', weight: 82 } }])
  const heavy = ['ALLOW READ ON patients.name WHERE weight > ctx.least', 'ALLOW UPDATE ON patients.name WHERE weight > 70']
  const input = { roles: ['heavy'], context: { least: 70 }, table: 'patients', draft: { heavy } }
  const message = 'Preview failed. A condition compares column "weight" of table "patients", which requires a purpose. State one.'
  const counts = async (purpose: object) => {
    const { changes } = await vault.as({ ...OWNER, ...purpose }).checkPolicy({ roles: { heavy: heavy.slice(1) } })
    return changes.flatMap(({ action, records }) => (action === 'UPDATE' ? [records] : []))
  }
  await expect(vault.as(OWNER).previewAccess(input)).rejects.toMatchObject({ code: 'unprocessable', message })
  expect(await counts({})).toEqual([undefined])
  expect(
    (await vault.as(OWNER).previewAccess({ ...input, context: {}, draft: { heavy: heavy.slice(0, 1) } })).records,
  ).toHaveLength(2)
  const purpose = { purpose: 'CASE-7' }
  const { records } = await vault.as({ ...OWNER, ...purpose }).previewAccess(input)
  expect(records.map(({ draft }) => draft?.fields)).toEqual([{}, { name: 'Bo' }])
  expect(await counts(purpose)).toEqual([1])
  // READ of a mask implies no SEARCH, whatever its condition is.
  const { changes } = await vault
    .as(OWNER)
    .checkPolicy({ roles: { some: ["ALLOW READ ON customers.name WHERE country = 'SE'"] } })
  expect(changes.map(({ action, records: count }) => [action, count])).toEqual([['READ', 2]])
})

it('a draft is refused at its place, and its texts are in no event', async () => {
  const { as, events } = await open()
  const owner = as('VAULT_OWNER')
  const roles = {
    support: [
      'ALLOW READ ON customers.name',
      'ALLOW READ\n  ON customers.secretword',
      'ALLOW READ ON customers.* WHERE risk = ctx.a AND',
    ],
    VAULT_OWNER: [],
    objects: [{ effect: 'ALLOW', actions: ['READ'], on: ['customers.name'], where: 'risk >' } as const],
  }
  expect(await owner.checkPolicy({ roles })).toEqual({
    errors: [
      {
        role: 'support',
        position: 2,
        line: 2,
        column: 6,
        message: 'Column "secretword" of table "customers" does not exist. Expected a column of it, or *.',
      },
      { role: 'support', position: 3, line: 1, column: 49, message: expect.stringMatching(/^Expected /) },
      { role: 'VAULT_OWNER', message: 'role "VAULT_OWNER" is built in and cannot be redefined. Use another name.' },
      { role: 'objects', position: 1, line: 1, column: 7, message: expect.stringMatching(/^Expected /) },
    ],
    changes: [],
    findings: [],
  })
  const many = { many: Array.from({ length: 31 }, (_, n) => `ALLOW READ ON customers.name WHERE risk = ${n}`) }
  const { errors } = await owner.checkPolicy({ roles: many })
  expect(errors).toEqual([{ message: expect.stringContaining('33 statements with WHERE') }])
  await expect(owner.previewAccess({ roles: [], draft: roles })).rejects.toMatchObject({
    code: 'invalid_request',
    message: 'Preview failed. The draft is invalid. checkPolicy returns its errors.',
  })
  await expect(owner.checkPolicy({ roles: [] as never })).rejects.toMatchObject({ code: 'invalid_request' })
  const tooMany = { a: Array.from({ length: 1001 }, () => 'DENY READ ON *') }
  await expect(owner.checkPolicy({ roles: tooMany })).rejects.toMatchObject({ code: 'limit_exceeded' })
  for (const wrong of [
    { limit: 101 },
    { limit: 0.5 },
    { after: 'x', table: 'customers' },
    { table: 'x' },
    { roles: 'x' },
    { context: { a: Symbol() } },
  ])
    await expect(owner.previewAccess({ roles: [], ...(wrong as object) })).rejects.toMatchObject({ name: 'VaultError' })
  expect(JSON.stringify(await events())).not.toContain('secretword')
})

it('a draft says who gains and loses what, in how many records', async () => {
  const { as } = await open()
  const { errors, changes, findings } = await as('VAULT_OWNER').checkPolicy({
    roles: {
      support: ['ALLOW READ ON customers.name WITH REDACTION = PLAIN_TEXT', "ALLOW READ ON customers.risk WHERE country = 'SE'"],
      analyst: ['ALLOW READ ON customers.risk WHERE country = ctx.country', "DENY READ ON customers.risk WHERE country = 'DE'"],
      denied: [],
      fresh: ['ALLOW AUDIT, UPDATE, TOKENIZATION ON *', 'ALLOW UPDATE ON customers.risk'],
    },
  })
  expect(errors).toEqual([])
  const plain = { decision: 'ALLOWED', level: 'PLAIN_TEXT', highestLevel: 'PLAIN_TEXT' }
  const some = { decision: 'CONDITIONAL', highestLevel: 'PLAIN_TEXT' }
  const [none, all] = [{ decision: 'DENIED' }, { decision: 'ALLOWED' }]
  expect(changes.filter(({ role, action }) => role !== 'fresh' || action === 'AUDIT')).toEqual([
    {
      role: 'support',
      table: 'customers',
      column: 'name',
      action: 'READ',
      before: { decision: 'ALLOWED', level: 'MASKED', highestLevel: 'MASKED' },
      after: plain,
      records: 3,
    },
    { role: 'support', table: 'customers', column: 'name', action: 'SEARCH', before: none, after: all, records: 3 },
    {
      role: 'support',
      table: 'customers',
      column: 'risk',
      action: 'READ',
      before: none,
      after: { ...some, when: ["country = 'SE'"] },
      records: 2,
    },
    {
      role: 'support',
      table: 'customers',
      column: 'risk',
      action: 'SEARCH',
      before: none,
      after: { decision: 'CONDITIONAL', when: ["country = 'SE'"] },
      records: 2,
    },
    {
      role: 'analyst',
      table: 'customers',
      column: 'risk',
      action: 'READ',
      before: { ...some, when: ['country = ctx.Country'], unless: ["country = 'NO'"] },
      after: { ...some, when: ['country = ctx.country'], unless: ["country = 'DE'"] },
    },
    {
      role: 'analyst',
      table: 'customers',
      column: 'risk',
      action: 'SEARCH',
      before: { decision: 'CONDITIONAL', when: ['country = ctx.Country'], unless: ["country = 'NO'"] },
      after: { decision: 'CONDITIONAL', when: ['country = ctx.country'], unless: ["country = 'DE'"] },
    },
    { role: 'fresh', table: '*', column: '*', action: 'AUDIT', before: none, after: all },
  ])
  expect(changes.filter(({ role, column }) => role === 'fresh' && column === 'risk').map(({ action }) => action)).toEqual([
    'UPDATE',
    'TOKENIZATION',
  ])
  expect(findings).toMatchObject([{ role: 'fresh', position: 2, finding: 'repeated' }])
})
