/** A pool of one connection to a PGlite: PostgreSQL as WebAssembly in this process, which has one session. docs/postgres.md shows the same to users. */
import { Duplex } from 'node:stream'
import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'

export interface PGlitePool {
  readonly pool: pg.Pool
  close(): Promise<void>
}

export async function openPGlite(): Promise<PGlitePool> {
  const db = await PGlite.create()
  const pool = new pg.Pool({ max: 1, user: 'postgres', stream: () => wireTo(db) })
  return {
    pool,
    async close() {
      await pool.end()
      await db.close()
    },
  }
}

/** What the driver takes for a socket. Each connection begins as a new session would. */
function wireTo(db: PGlite): Duplex {
  const wire = new Duplex({
    read() {},
    write(bytes: Buffer, _encoding, done) {
      db.execProtocolRaw(bytes).then((answer) => {
        wire.push(answer)
        done()
      }, done)
    },
  })
  const self = () => wire
  async function connect(): Promise<void> {
    await db.exec('rollback')
    await db.exec('discard all')
    wire.emit('connect')
  }
  return Object.assign(wire, { connect: () => void connect(), setNoDelay: self, setKeepAlive: self, ref: self, unref: self })
}
