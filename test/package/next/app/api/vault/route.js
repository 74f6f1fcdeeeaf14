/** Uses a vault in a SQLite file for each request. */
import { sqliteStorage } from 'strongroom/sqlite'
import { useVault } from '../../../use-vault.mjs'

export const dynamic = 'force-dynamic'

export async function GET() {
  await useVault(sqliteStorage({ filename: 'next.db' }))
  return Response.json({ works: true })
}
