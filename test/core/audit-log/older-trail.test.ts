/** A trail whose events are sealed as their text: it is verified, listed and exported as before, and continued in the compact form. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { verifyExport } from '../../../src/audit-verifier/index.ts'
import { fromRowId } from '../../../src/core/audit/chain-position.ts'
import type { Cell, NewRow, StorageHandle } from '../../../src/core/ports/storage.ts'
import { AUDIT_EVENTS, CATALOG, SYSTEM_TABLES } from '../../../src/core/schema/system-tables.ts'
import { required } from '../../../src/core/util/lists.ts'
import { eventsOf, listedBy, openClients } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

type StoredCell = number | string | null | { readonly base64: string } | { readonly bigint: string }

/** What the last release that sealed text stored, and the lines it exported. */
const STORED: {
  readonly lines: readonly string[]
  readonly tables: Readonly<Record<string, readonly Readonly<Record<string, StoredCell>>[]>>
} = JSON.parse(readFileSync(new URL('../../vectors/older-trail.json', import.meta.url), 'utf8'))

function cellOf(cell: StoredCell): Cell {
  if (cell === null || typeof cell !== 'object') return cell
  return 'base64' in cell ? Uint8Array.from(Buffer.from(cell.base64, 'base64')) : BigInt(cell.bigint)
}

async function restore(storage: StorageHandle): Promise<void> {
  await storage.prepare([CATALOG, ...SYSTEM_TABLES])
  for (const [table, rows] of Object.entries(STORED.tables)) {
    await storage.reserveIds(table, rows.length)
    const cells = rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, cellOf(cell)])))
    // The cast is safe: the file has the rows of a storage, with their ids.
    await storage.insert(table, cells as unknown as NewRow[])
  }
}

async function linesOf(vault: { exportAudit(): AsyncIterable<string> }): Promise<string[]> {
  const lines: string[] = []
  for await (const line of vault.exportAudit()) lines.push(line)
  return lines
}

const isEvent = (line: string): boolean => line.startsWith('{"digest"')
const OLDER = STORED.lines.filter(isEvent)

onEachStorage('a trail of the older form', (engine) => {
  it('is verified and exported as it was, and goes on in the compact form', async () => {
    const storage = engine.fresh().open()
    await restore(storage)
    const vault = await openClients(storage)
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: OLDER.length })
    expect(await linesOf(vault)).toEqual(STORED.lines)

    const session = vault.as(OWNER)
    for (let n = 0; n < 3; n++) await session.insert('orders', [{ fields: { memo: `${n}` } }])
    await session.batch([{ get: 'orders', id: 'nothing' }]).catch(() => undefined)
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: OLDER.length + 4 })
    const lines = await linesOf(vault)
    expect(lines.filter(isEvent).slice(0, OLDER.length)).toEqual(OLDER)
    expect(await verifyExport(lines)).toMatchObject({ ok: true, eventCount: OLDER.length + 4 })
    const listed = await listedBy(session)
    expect(listed.slice(0, OLDER.length + 4).map(({ context }) => context.changeID)).toEqual(
      (await eventsOf(vault)).slice(0, OLDER.length + 4).map(({ changeID }) => changeID),
    )
    const rows = await storage.find(AUDIT_EVENTS.name, { kind: 'all' }, { order: 'asc', limit: 100 })
    const sizes = rows.map(({ body }) => (body instanceof Uint8Array ? body.length : 0))
    expect(Math.min(...sizes.slice(0, OLDER.length))).toBeGreaterThan(
      2 * Math.max(...sizes.slice(OLDER.length, OLDER.length + 3)),
    )

    for (const row of [required(rows[2]), required(rows[OLDER.length + 1])]) {
      const body = required(row.body as Uint8Array | undefined)
      const flipped = body.map((byte, index) => (index === body.length - 20 ? byte ^ 1 : byte))
      await storage.update(AUDIT_EVENTS.name, [{ id: row.id, version: row.version, set: { body: flipped } }])
      expect(await vault.verifyAudit()).toMatchObject({ ok: false, firstFailure: fromRowId(row.id) })
      await storage.update(AUDIT_EVENTS.name, [{ id: row.id, version: row.version + 1, set: { body } }])
      expect(await vault.verifyAudit()).toMatchObject({ ok: true })
    }
    await vault.close()
  })
})
