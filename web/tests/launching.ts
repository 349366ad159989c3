// Launches an installed Chromium with playwright-core.
import { execFileSync } from 'node:child_process';

import { chromium, type Browser, type BrowserServer, type LaunchOptions } from 'playwright-core';

import { PYTHON, ROOT } from './headwater';

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
]; // prettier-ignore

export const launch = (): Promise<Browser> => chromium.launch(howToLaunch());

/** Start a browser that several processes can connect to. */
export const serve = (): Promise<BrowserServer> => chromium.launchServer(howToLaunch());

function howToLaunch(): LaunchOptions {
  const program = 'from tools.programs import CHROMIUM; print(CHROMIUM.find() or "")';
  const executablePath = execFileSync(PYTHON, ['-c', program], { cwd: ROOT, encoding: 'utf8' }).trim();
  if (!executablePath) throw new Error('Chromium is missing. Run `make setup-test`, which prints what to install.');
  return { executablePath, args: FLAGS };
}
