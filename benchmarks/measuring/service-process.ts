/** The process of a service, with workers if it has more than one. Started by `services.ts`, which gets the port and the process ids. */
import cluster from 'node:cluster'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerClientError, apiKeys, createHandler, toNodeHandler } from '../../src/http/index.ts'
import { createExpressService } from '../baselines/express-service.ts'
import { openPlainStore } from '../baselines/plain-store.ts'
import { openServedVault, VAULT } from '../fixtures/people-vaults.ts'
import type { ServiceInput } from './services.ts'
import { openPlace } from './writers.ts'

const input = JSON.parse(process.argv[2] ?? '') as ServiceInput // Written by `services.ts`.

async function listenerOf({ side, place }: ServiceInput): Promise<RequestListener> {
  if (side === 'express') return createExpressService(openPlainStore(place), VAULT)
  return toNodeHandler(createHandler({ vaults: await openServedVault(openPlace(place)), authenticate: apiKeys() }))
}

async function listen(): Promise<number> {
  const server = createServer(await listenerOf(input)).on('clientError', answerClientError)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server on a port has an address with a port.
  return (server.address() as AddressInfo).port
}

/** Starts the workers one after the other. Resolves with their port when all of them listen. */
async function startWorkers(): Promise<{ readonly port: number; readonly pids: number[] }> {
  const pids = [process.pid]
  let port = 0
  while (pids.length <= input.workers) {
    const worker = cluster.fork()
    port = await new Promise((resolve) => worker.once('listening', (address) => resolve(address.port)))
    pids.push(worker.process.pid ?? 0)
  }
  return { port, pids }
}

// A run that is killed leaves no process behind.
process.once('disconnect', () => process.exit())
if (cluster.isWorker) await listen()
else process.send?.(input.workers > 1 ? await startWorkers() : { port: await listen(), pids: [process.pid] })
