/** Each framework with a handler in it: at the root or under a path, in every way that its users mount things. */
import { createServer, type Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { answerClientError, type Handler, toNodeHandler } from '../../../src/http/index.ts'
import { listen, stop } from './serve-vault.ts'

/** A running server. */
export interface Mounted {
  readonly port: number
  close(): Promise<void>
}

/** A way to mount a handler. */
export interface Mount {
  readonly name: string
  /** Starts a server whose handler is under the path, which is empty for the root. */
  start(handler: Handler, path: string): Promise<Mounted>
  /** The host has parsed bodies before, within a limit of its own. */
  readonly hasParsedJson?: true
}

async function onNode(server: Server): Promise<Mounted> {
  server.on('clientError', answerClientError)
  return { port: await listen(server), close: () => stop(server) }
}

function expressAfter(name: string, ...parsers: readonly express.RequestHandler[]): Mount {
  return {
    name,
    start(handler, path) {
      const app = express()
      for (const parser of parsers) app.use(parser)
      app.use(path === '' ? '/' : path, toNodeHandler(handler))
      return onNode(createServer(app))
    },
  }
}

function fastify() {
  return async (handler: Handler, path: string): Promise<Mounted> => {
    const app = Fastify({ clientErrorHandler: answerClientError })
    const handle = toNodeHandler(handler)
    await app.register(
      async (plugin) => {
        plugin.removeAllContentTypeParsers()
        plugin.addContentTypeParser('*', (_request, _body, done) => done(null))
        plugin.all('/*', (request, reply) => handle(request.raw, reply.hijack().raw))
      },
      { prefix: path },
    )
    await app.listen({ port: 0, host: '127.0.0.1' })
    const address = app.addresses()[0]
    return { port: typeof address === 'object' ? address.port : 0, close: () => app.close() }
  }
}

function hono(mount: (app: Hono, handler: Handler, path: string) => void) {
  return async (handler: Handler, path: string): Promise<Mounted> => {
    const app = new Hono()
    mount(app, handler, path)
    return onFetch(app.fetch)
  }
}

/** A server of web requests on node:http. */
async function onFetch(fetch: (request: Request, env: unknown) => Response | Promise<Response>): Promise<Mounted> {
  // Without a certificate it is a server of node:http.
  return onNode(createAdaptorServer({ fetch }) as Server)
}

export const MOUNTS: readonly Mount[] = [
  { name: 'node:http', start: (handler) => onNode(createServer(toNodeHandler(handler))) },
  expressAfter('Express 5'),
  { ...expressAfter('Express 5 after express.json()', express.json({ limit: '50mb' })), hasParsedJson: true },
  expressAfter('Express 5 after express.urlencoded()', express.urlencoded()),
  expressAfter('Express 5 after express.text()', express.text({ type: '*/*', limit: '50mb' })),
  expressAfter('Express 5 after express.raw()', express.raw({ type: '*/*', limit: '50mb' })),
  {
    name: 'Express 5, a route',
    start(handler, path) {
      const app = express()
      app.all(`${path}/*path`, toNodeHandler(handler))
      return onNode(createServer(app))
    },
  },
  { name: 'Fastify 5', start: fastify() },
  { name: 'Hono, all()', start: hono((app, handler, path) => app.all(`${path}/*`, ({ req, env }) => handler(req.raw, env))) },
  { name: 'Hono, mount()', start: hono((app, handler, path) => app.mount(path === '' ? '/' : path, handler)) },
  {
    name: 'Koa 3',
    start(handler) {
      const app = new Koa()
      const handle = toNodeHandler(handler)
      app.use((context) => {
        context.respond = false
        return handle(context.req, context.res)
      })
      return onNode(createServer(app.callback()))
    },
  },
  {
    name: 'a route handler of Next.js',
    start: (handler) =>
      onFetch((request) => handler(request, { params: Promise.resolve({ path: ['address'], address: 'no address' }) })),
  },
]
