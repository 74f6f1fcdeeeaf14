/** A server that ends loses no request, and what it has acknowledged is stored, however it ends. */
import { describe, expect, it } from 'vitest'
import { type ClientTally, missingFrom, sendWithoutPause } from '../../support/serve/busy-clients.ts'
import { type ServedProject, servedProject, startServer, waitForWorkers } from '../../support/serve/start-server.ts'

const CLIENTS = 8
const RUNS = 2
/** Answers before a server is ended, so that every client sends. */
const WARM = 60

describe.each(['sqlite', 'postgres'] as const)('on %s', (engine) => {
  it.each([1, 2])('with %i workers, SIGTERM under load loses no request of keep-alive clients', async (workers) => {
    const project = await servedProject(engine)
    const stored: string[] = []
    for (let run = 0; run < RUNS; run++) {
      const { tally, code } = await endUnderLoad(project, { workers, run })
      expect([code, tally.lost, tally.others]).toEqual([0, 0, {}])
      expect(tally.answered).toBeGreaterThanOrEqual(WARM)
      stored.push(...tally.stored)
    }
    expect(await missingFrom(project, stored)).toEqual([])
  })

  it('kill -9 under load loses nothing that was acknowledged', async () => {
    const project = await servedProject(engine)
    const stored: string[] = []
    for (let run = 0; run < RUNS; run++) {
      const { tally } = await endUnderLoad(project, { workers: 1, run, signal: 'SIGKILL' })
      stored.push(...tally.stored)
    }
    expect(stored.length).toBeGreaterThan(RUNS)
    expect(await missingFrom(project, stored)).toEqual([])
  })
})

/** Serves, ends the server in the middle of the load, and returns what the clients saw. */
async function endUnderLoad(
  project: ServedProject,
  { workers, run, signal = 'SIGTERM' }: { workers: number; run: number; signal?: NodeJS.Signals },
): Promise<{ tally: ClientTally; code: number | null }> {
  const server = await startServer(project, ['--workers', String(workers)])
  if (workers > 1) await waitForWorkers(server, workers)
  let isSent = false
  const tally = await sendWithoutPause({
    port: server.port,
    apiKey: project.apiKey,
    count: CLIENTS,
    name: `${workers}-${run}-${signal.toLowerCase()}`,
    onAnswer({ answered }) {
      if (isSent || answered < WARM) return
      isSent = true
      server.command.child.kill(signal)
    },
  })
  return { tally, code: (await server.command.ended).code }
}
