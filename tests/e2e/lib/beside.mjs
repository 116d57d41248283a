// SPDX-License-Identifier: Apache-2.0
// Catalogs for tests: small ones in tests/data, and those of many real servers in a folder beside the repository
// (../shared, or what TOOLGATE_SHARED names), which may be absent. A test file imports this module if and only if it
// reads that folder: tests/run.py --without-data runs those files without it.
import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './gateway.mjs';

const jsonFiles = (folder) => (fs.existsSync(folder) ? fs.readdirSync(folder).sort() : [])
  .filter((file) => file.endsWith('.json')).map((file) => path.join(folder, file));

const FOLDER = path.join(process.env.TOOLGATE_SHARED ?? path.join(ROOT, '../shared'), 'data/catalogs');

export const IN_TREE = jsonFiles(path.join(ROOT, 'tests/data/catalogs'));
export const BESIDE = jsonFiles(FOLDER);
/** The option `skip` of a test that needs the catalogs of real servers. */
export const skip = BESIDE.length ? false : `there are no catalogs at ${FOLDER}`;

export const readCatalog = (file) => JSON.parse(fs.readFileSync(file, 'utf8'));
export const nameOf = (file) => path.basename(file, '.json');
