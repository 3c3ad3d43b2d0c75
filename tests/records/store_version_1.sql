CREATE TABLE bisections (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	created FLOAT NOT NULL, 
	finished FLOAT, 
	state VARCHAR NOT NULL, 
	engine VARCHAR NOT NULL, 
	question JSON NOT NULL, 
	host JSON NOT NULL, 
	owner JSON, 
	counter VARCHAR, 
	regime VARCHAR, 
	verdict JSON
);
CREATE TABLE builds (
	id INTEGER NOT NULL, 
	recipe_key VARCHAR NOT NULL, 
	engine VARCHAR NOT NULL, 
	sha VARCHAR NOT NULL, 
	started FLOAT NOT NULL, 
	recipe JSON NOT NULL, 
	outcome VARCHAR NOT NULL, 
	artifact VARCHAR, 
	first_error VARCHAR NOT NULL, 
	repairs JSON NOT NULL, 
	diff VARCHAR NOT NULL, 
	cpu_seconds FLOAT NOT NULL, 
	wall_seconds FLOAT NOT NULL, 
	cache_hits INTEGER NOT NULL, 
	cache_misses INTEGER NOT NULL, 
	compiled JSON NOT NULL, 
	log VARCHAR NOT NULL, 
	PRIMARY KEY (id)
);
CREATE INDEX ix_builds_sha ON builds (sha);
CREATE INDEX ix_builds_recipe_key ON builds (recipe_key);
CREATE TABLE candidates (
	bisection INTEGER NOT NULL, 
	path VARCHAR NOT NULL, 
	position INTEGER NOT NULL, 
	sha VARCHAR NOT NULL, 
	same_binary_as VARCHAR NOT NULL, 
	subject VARCHAR NOT NULL, 
	PRIMARY KEY (bisection, path, position), 
	FOREIGN KEY(bisection) REFERENCES bisections (id) ON DELETE CASCADE
);
CREATE TABLE uses (
	bisection INTEGER NOT NULL, 
	build INTEGER NOT NULL, 
	made INTEGER NOT NULL, 
	PRIMARY KEY (bisection, build), 
	FOREIGN KEY(bisection) REFERENCES bisections (id) ON DELETE CASCADE, 
	FOREIGN KEY(build) REFERENCES builds (id)
);
CREATE TABLE probes (
	id INTEGER NOT NULL, 
	bisection INTEGER NOT NULL, 
	build INTEGER NOT NULL, 
	purpose VARCHAR NOT NULL, 
	test VARCHAR NOT NULL, 
	parameters JSON NOT NULL, 
	counter VARCHAR NOT NULL, 
	started FLOAT NOT NULL, 
	seconds FLOAT NOT NULL, 
	error VARCHAR, 
	profile BLOB, 
	variables JSON NOT NULL, 
	commands JSON NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(bisection) REFERENCES bisections (id) ON DELETE CASCADE, 
	FOREIGN KEY(build) REFERENCES builds (id)
);
CREATE INDEX probes_by_build ON probes (bisection, build, purpose);
CREATE TABLE events (
	id INTEGER NOT NULL, 
	bisection INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	kind VARCHAR NOT NULL, 
	data JSON NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(bisection) REFERENCES bisections (id) ON DELETE CASCADE
);
CREATE INDEX ix_events_bisection ON events (bisection);
CREATE TABLE samples (
	probe INTEGER NOT NULL, 
	metric VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	value FLOAT NOT NULL, 
	PRIMARY KEY (probe, metric, number), 
	FOREIGN KEY(probe) REFERENCES probes (id) ON DELETE CASCADE
);
PRAGMA user_version = 1;
