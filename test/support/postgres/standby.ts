/** Makes a copy of a running PostgreSQL that follows its log, for tests of what happens when it takes over. */
import { chmodSync, cpSync, lchownSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { queryServer } from './query-server.ts'

/** What is needed of a server. */
interface Server {
  readonly url: string
  readonly dataPath: string
  readonly logPath: string
}

/** The name of the standby, for `synchronous_standby_names`. */
export const STANDBY = 'standby'

/** Longest wait for a promotion, in milliseconds. */
const LIMIT_MS = 30_000

/** Copies the files of a server while it runs, as `pg_basebackup` does, and sets the copy up as its standby. */
export async function copyToStandby(
  server: Server,
  target: string,
  account: { readonly uid: number; readonly gid: number } | undefined,
): Promise<void> {
  // The session that begins a backup has to end it.
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  try {
    const [begin, end] = (await isOld(client))
      ? ["start_backup('', true, false)", 'stop_backup(false)']
      : ["backup_start('', true)", 'backup_stop()']
    await client.query(`select pg_${begin}`)
    cpSync(server.dataPath, target, { recursive: true, verbatimSymlinks: true })
    const { rows } = await client.query<{ labelfile: string }>(`select labelfile from pg_${end}`)
    writeFileSync(path.join(target, 'backup_label'), rows[0]?.labelfile ?? '')
  } finally {
    await client.end()
  }
  const { hostname, port, username, password } = new URL(server.url)
  const primary = `host=${hostname} port=${port} user=${username} password=${password} application_name=${STANDBY}`
  writeFileSync(path.join(target, 'standby.signal'), '')
  writeFileSync(path.join(target, 'postgresql.auto.conf'), `primary_conninfo = '${primary}'\n`)
  rmSync(path.join(target, 'postmaster.pid'), { force: true })
  chmodSync(target, 0o700)
  if (account === undefined) return
  for (const entry of ['.', ...readdirSync(target, { recursive: true, encoding: 'utf8' })]) {
    lchownSync(path.join(target, entry), account.uid, account.gid)
  }
}

/** Before version 15 the functions had other names. */
async function isOld(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ old: boolean }>(`select current_setting('server_version_num')::int < 150000 as old`)
  return rows[0]?.old === true
}

/** Makes a standby a primary, and waits until it takes writes. */
export async function promote(standby: Server): Promise<void> {
  await queryServer(standby.url, 'select pg_promote(false)')
  const limit = performance.now() + LIMIT_MS
  while (performance.now() < limit) {
    const [state] = await queryServer<{ waiting: boolean }>(standby.url, 'select pg_is_in_recovery() as waiting')
    if (state?.waiting === false) return
    await pause(10)
  }
  throw new Error(`The standby was not promoted: ${readFileSync(standby.logPath, 'utf8')}`)
}

/** Waits for the standby to have replayed everything that the primary has written. */
export async function caughtUp(primary: Server, standby: Server): Promise<void> {
  const [written] = await queryServer<{ lsn: string }>(primary.url, 'select pg_current_wal_lsn() as lsn')
  for (;;) {
    const text = 'select pg_last_wal_replay_lsn() >= $1::pg_lsn as done'
    const [row] = await queryServer<{ done: boolean }>(standby.url, text, [written?.lsn])
    if (row?.done === true) return
    await pause(10)
  }
}
