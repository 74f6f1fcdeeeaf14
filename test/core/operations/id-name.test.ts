/** The name of the record id in a query must not be the name of a column: the query could mean either. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { column, defineSchema } from '../../../src/index.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const TABLES = {
  t: { row_id: column.string(), name: column.string({ redaction: 'PLAIN_TEXT' }), secret: column.string() },
  u: { other: column.string() },
}
const READER = { actor: 'x', actorType: 'USER', roles: ['reader'] } as const

async function open() {
  const { vault, session } = await openLoose(memoryStorage(), TABLES, {
    policy: { reader: ['ALLOW READ ON t.name', 'ALLOW READ ON u.*'] },
  })
  const { records } = await session.insert('t', [{ fields: { row_id: 'a value', name: 'Ann', secret: 'x' } }])
  return { vault, id: records[0]?.id }
}

it('is refused in any spelling if a queried table has a column of it', async () => {
  const { vault } = await open()
  for (const sql of [
    'SELECT row_id FROM t',
    'SELECT ROW_ID FROM T',
    'SELECT "Row_Id" FROM t',
    'SELECT name FROM t',
    'SELECT o.other FROM u o JOIN t ON t.name = o.other',
  ]) {
    await expect(vault.as(OWNER).query(sql, { idName: 'row_id' })).rejects.toMatchObject({
      code: 'invalid_request',
      message:
        'Query failed. Option "idName" must not be the name of a column, and table "t" has a column "row_id". Use another name.',
      details: [{ table: 't', column: 'row_id' }],
    })
  }
  await expect(vault.as(OWNER).query('SELECT name FROM t', { idName: 'ROW_ID' })).rejects.toMatchObject({
    code: 'invalid_request',
  })
})

it('is accepted if no queried table has it, or if the caller cannot know of the column', async () => {
  const { vault, id } = await open()
  expect(await vault.as(OWNER).query('SELECT row_id FROM u', { idName: 'row_id' })).toEqual({ records: [], isCut: false })
  expect(await vault.as(OWNER).query('SELECT ID FROM t', { idName: 'id' })).toMatchObject({ records: [{ fields: { id } }] })
  for (const idName of ['secret', 'unknown']) {
    const { records } = await vault.as(READER).query(`SELECT ${idName}, name FROM t`, { idName })
    expect(records).toMatchObject([{ fields: { [idName]: id, name: 'Ann' } }])
  }
})

it('svc_id is the name of no column, in any spelling', () => {
  for (const name of ['svc_id', 'SVC_ID', 'Svc_Id']) {
    expect(() => defineSchema({ t: { [name]: column.string() } })).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  }
  expect(() => defineSchema({ t: { svc_id: column.string() } })).toThrow('it names the record id in queries')
})
