/** The number of records of a table: asked for once, after its first page is there. */
import { useEffect } from 'preact/hooks'
import { perform } from '../../app/api.ts'
import { counts } from '../../app/session.ts'
import { useStore } from '../../app/store.ts'
import type { TableView } from './table-view.ts'

/** Returns the number of records that the caller can see, where it is known. */
export function useRecordCount({ table, pages, lookUp }: TableView): number | undefined {
  const known = useStore(counts)[table.name]
  const isRead = pages.count > 0 || pages.isWhole
  const isWhole = pages.isWhole && lookUp === undefined
  useEffect(() => {
    if (isWhole) setCount(table.name, pages.count)
    else if (isRead && known === undefined) void countRecords(table.name)
  }, [isRead, isWhole, table])
  return isWhole ? pages.count : known
}

/** Adds to a number that is known. */
export function changeCount(table: string, by: 1 | -1): void {
  const known = counts.get()[table]
  if (known !== undefined) setCount(table, known + by)
}

async function countRecords(table: string): Promise<void> {
  const query = `SELECT COUNT(*) AS n FROM "${table.replaceAll('"', '""')}"`
  try {
    const { records } = await perform('query', { query })
    setCount(table, Number(records[0]?.fields.n))
  } catch {
    // The table is shown without its number.
  }
}

function setCount(table: string, count: number): void {
  counts.set({ ...counts.get(), [table]: count })
}
