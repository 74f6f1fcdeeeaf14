/** Serves the console: one page under every path, and files whose names change with their content. */
import type { HttpRequest, HttpResponse } from '../router/http-message.ts'
import { type ConsoleFile, readConsoleFiles } from './console-files.ts'

/** Answers a request under `/console`. Undefined for any other, for other methods than GET and HEAD, and for a file that does not exist. */
export type Console = (request: Pick<HttpRequest, 'method' | 'header'>, path: string) => HttpResponse | undefined

const PATH = '/console'
const ASSETS = `${PATH}/assets/`

/** What the page may load and do: its own files, and nothing inline. */
export const CONSOLE_POLICY = [
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'",
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': CONSOLE_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'permissions-policy': 'clipboard-read=(), camera=(), geolocation=(), microphone=()',
} as const

/** Returns what serves the console. The page names the vault of a handler that has one alone. Throws `invalid_request` if the package has no built files of it. */
export function createConsole(vaultID: string | undefined): Console {
  const { page, assets } = readConsoleFiles()
  const named =
    vaultID === undefined
      ? page
      : page.replace('</head>', () => `<meta name="strongroom-vault" content="${escaped(vaultID)}">\n</head>`)
  return ({ method, header }, path) => {
    if (method !== 'GET' && method !== 'HEAD') return undefined
    if (path.startsWith(ASSETS)) {
      const file = assets.get(path.slice(ASSETS.length))
      return file === undefined ? undefined : fileResponse(file, header('accept-encoding') ?? '')
    }
    return path === PATH || path.startsWith(`${PATH}/`) ? pageResponse(named, path) : undefined
  }
}

/** The way to the files is relative to the path of the page: what a proxy or a framework has taken off that path is not known here. */
function pageResponse(page: string, path: string): HttpResponse {
  const depth = path.slice(PATH.length).split('/').length - 1
  const way = depth === 0 ? `.${PATH}/` : depth === 1 ? './' : '../'.repeat(depth - 1)
  return {
    status: 200,
    headers: { ...HEADERS, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' },
    body: page.replaceAll('"./assets/', `"${way}assets/`),
  }
}

function fileResponse({ type, bytes, codings }: ConsoleFile, accepted: string): HttpResponse {
  const coding = Object.keys(codings).find((name) => accepts(accepted, name))
  return {
    status: 200,
    headers: {
      ...HEADERS,
      'content-type': type,
      'cache-control': 'public, max-age=31536000, immutable',
      // In place of a `vary` of the host, whose CORS answers each origin in its own way.
      vary: 'accept-encoding, origin',
      ...(coding === undefined ? {} : { 'content-encoding': coding }),
    },
    body: coding === undefined ? bytes : codings[coding],
  }
}

/** True if an Accept-Encoding header names the coding, with another weight than 0. */
function accepts(header: string, coding: string): boolean {
  return header.split(',').some((part) => {
    const [name = '', ...parameters] = part.toLowerCase().split(';')
    return name.trim() === coding && !parameters.some((one) => /^\s*q=0(\.0*)?\s*$/.test(one))
  })
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`)
}
