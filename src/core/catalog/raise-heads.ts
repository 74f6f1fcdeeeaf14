/** Writes the generation of a changed catalog into every chain head, so that a writer that read an older one is stopped by the head it appends to. */
import { decodeHead, encodeHead } from '../audit/chain.ts'
import { type Barrier, CATALOG_MOVED } from '../barrier/barrier.ts'
import { eachPage } from '../maintenance/each-page.ts'
import type { RootKeySet } from '../ports/crypto.ts'
import type { Row, Storage } from '../ports/storage.ts'
import { AUDIT_CHAINS } from '../schema/system-tables.ts'
import { openEntries, sealEntries } from '../sealing/audit-entry.ts'
import { slabItem } from '../util/memory.ts'

/**
 * Raises all heads, inside the transaction that changes the catalog and as its last step, because appending waits meanwhile. A chain
 * that begins at the same time has generation 0, which its first change must confirm. A head that fails authentication is left as it is.
 */
export async function raiseHeads(storage: Storage, barrier: Barrier, keys: RootKeySet): Promise<void> {
  await storage.lock([AUDIT_CHAINS.name])
  for await (const rows of eachPage(storage, AUDIT_CHAINS.name)) {
    const patches = raisedHeads(barrier, keys, rows)
    if ((await storage.update(AUDIT_CHAINS.name, patches)).includes(false)) throw CATALOG_MOVED
  }
}

function raisedHeads({ ring, vault }: Barrier, { generation, lookupVersion, roots }: RootKeySet, rows: readonly Row[]) {
  const address = { ring, vault, kind: 'head' } as const
  const sealed = rows.map(({ body }) => (body instanceof Uint8Array ? body : new Uint8Array(0)))
  const { plaintexts, opened } = openEntries(
    address,
    rows.map(({ id }) => id),
    sealed,
  )
  const authentic = rows.flatMap((row, index) => {
    if (opened[index] !== 1) return []
    const head = decodeHead(slabItem(plaintexts, index))
    return [{ row, bytes: encodeHead({ ...head, keys: { generation, lookupVersion, roots } }) }]
  })
  const raised = sealEntries(
    address,
    authentic.map(({ row }) => row.id),
    authentic.map(({ bytes }) => bytes),
  )
  return authentic.map(({ row: { id, version } }, index) => ({ id, version, set: { body: slabItem(raised, index) } }))
}
