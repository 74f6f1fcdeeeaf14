/** A rotation beside a transaction of the application that stays open: other writers do not wait for it, and the rotation ends after it. */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { expect, inject, it, onTestFinished } from 'vitest'
import { postgresStorage } from '../../../src/adapters/postgres/postgres-storage.ts'
import { freshDatabase } from '../../support/postgres/fresh-database.ts'
import { fillRotating, leftBehind, missingIn, openRotating } from '../../support/vaults/rotating-vault.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

it('lets other writers go on while a transaction that has written is open', async () => {
  const database = await freshDatabase(inject('postgresUrl'))
  const pool = new pg.Pool({ connectionString: database.url })
  const vault = await openRotating(postgresStorage({ pool }))
  const other = await openRotating(postgresStorage({ connectionString: database.url }))
  onTestFinished(async () => {
    await Promise.all([vault.close(), other.close()])
    await pool.end()
    await database.drop()
  })
  const filled = await fillRotating(vault, 5)
  const client = await pool.connect()
  await client.query('BEGIN')
  await vault.withTransaction(client).as(OWNER).insertOne('others', { a: 'two' })
  const rotating = vault.rotateKeys()
  let slowest = 0
  for (let n = 0; n < 12; n++) {
    await pause(150)
    const began = performance.now()
    await other.as(OWNER).insertOne('others', { a: `n${n}` })
    slowest = Math.max(slowest, performance.now() - began)
  }
  expect(slowest).toBeLessThan(1500)
  expect((await other.keys()).keys.map(({ state }) => state)).toEqual(['lookup', 'active'])
  await client.query('COMMIT')
  client.release()
  expect(await rotating).toMatchObject({ version: 3, complete: true })
  expect([...(await leftBehind(other)), ...(await missingIn(other, filled))]).toEqual([])
})
