/** Uses a vault in a SQLite file. */
import { sqliteStorage } from 'strongroom/sqlite'
import { useVault } from './use-vault.mjs'

await useVault(sqliteStorage({ filename: `trial-${process.pid}.db` }))
console.log('SQLite works')
